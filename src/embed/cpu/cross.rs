//! A cross-encoder on our encoder.

use std::sync::{Mutex, PoisonError};

use rayon::prelude::*;

use super::classifier::Classifier;
use super::encoder::Workspace;
use super::{BATCH_TOKENS, Plan, Running, failed};
use crate::embed::folder::Folder;
use crate::embed::head::Activation;
use crate::embed::rerank::{Reranker, Settings};
use crate::embed::tokenizer::{ModelTokenizer, Pair};
use crate::error::Result;

/// A network that judges pairs.
pub(crate) struct CrossEncoder {
    id: String,
    tokenizer: ModelTokenizer,
    running: Running,
    classifier: Classifier,
    activation: Activation,
    idle: Mutex<Vec<Workspace>>,
}

impl CrossEncoder {
    pub(crate) fn load(mut folder: Folder, settings: Settings, plan: Plan) -> Result<Self> {
        let Settings { config, network, tokenizer, activation } = settings;
        let (running, tensors) = Running::load(&mut folder, &network, plan, &tokenizer)?;
        let classifier = Classifier::read(&config, &tensors, running.hidden)
            .map_err(|problem| folder.error(problem, "name a cross-encoder with one label"))?;
        let revision = folder.revision.as_deref().map(|revision| format!("@{revision}")).unwrap_or_default();
        let id = format!("{}{revision}", folder.id);
        Ok(Self { id, tokenizer, running, classifier, activation, idle: Mutex::default() })
    }

    /// The scores of some pairs.
    fn judge(&self, pairs: &[(usize, Pair)]) -> Result<Vec<f32>> {
        let Running { encoder, hidden, .. } = &self.running;
        let texts: Vec<&[u32]> = pairs.iter().map(|(_, pair)| pair.ids.as_slice()).collect();
        let seconds: Vec<usize> = pairs.iter().map(|(_, pair)| pair.second).collect();
        if let Some(problem) = texts.iter().find_map(|ids| encoder.refuses(ids)) {
            return Err(failed("running the reranker")(&problem));
        }
        let idle = || self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        let mut workspace = idle().pop().unwrap_or_default();
        let mut rest = encoder.forward(&texts, &seconds, &mut workspace);
        let mut scores = Vec::with_capacity(pairs.len());
        for ids in texts {
            let (states, after) = rest.split_at(ids.len() * encoder.stride());
            rest = after;
            let score = self.activation.apply(self.classifier.judge(states, encoder.stride(), *hidden));
            if !score.is_finite() {
                return Err(failed("running the reranker")(&"a score is not finite; the weights are damaged"));
            }
            scores.push(score);
        }
        idle().push(workspace);
        Ok(scores)
    }
}

impl Reranker for CrossEncoder {
    fn id(&self) -> &str {
        &self.id
    }

    fn scores(&self, question: &str, passages: &[&str]) -> Result<Vec<f32>> {
        let pairs = passages.par_iter().map(|passage| self.tokenizer.pair(question, passage));
        let mut pairs: Vec<(usize, Pair)> = pairs.collect::<Result<Vec<_>>>()?.into_iter().enumerate().collect();
        // The longest first, so that no thread begins one when the others are done.
        pairs.sort_by_key(|(_, pair)| std::cmp::Reverse(pair.ids.len()));
        let mut tokens = 0;
        let batches: Vec<&[(usize, Pair)]> = pairs
            .chunk_by(|(_, before), (_, next)| {
                tokens = if tokens == 0 { before.ids.len() } else { tokens } + next.ids.len();
                let fits = tokens <= BATCH_TOKENS;
                if !fits {
                    tokens = 0;
                }
                fits
            })
            .collect();
        let judged = batches.par_iter().with_max_len(1).map(|batch| self.judge(batch)).collect::<Result<Vec<_>>>()?;
        let mut scores = vec![0.0; passages.len()];
        for (&(place, _), score) in batches.into_iter().flatten().zip(judged.into_iter().flatten()) {
            scores[place] = score;
        }
        Ok(scores)
    }
}
