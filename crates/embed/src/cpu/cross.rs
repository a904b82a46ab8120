//! A cross-encoder that runs on chunkmill's own encoder.

use chunkmill_base::error::Result;
use rayon::prelude::*;

use super::classifier::Classifier;
use super::encoder::StateSelection;
use super::runner::{BATCH_TOKENS, Plan, Runner};
use crate::embedder::finite;
use crate::folder::Folder;
use crate::head::{Activation, Head};
use crate::rerank::{Reranker, RerankerSettings};
use crate::split::{Most, split};
use crate::tokenizer::{ModelTokenizer, TextPair};

/// A network that scores pairs of texts.
pub(crate) struct CrossEncoder {
    id: String,
    tokenizer: ModelTokenizer,
    runner: Runner,
    scorer: Scorer,
    activation: Activation,
}

/// The layers that turn the states of a pair's tokens into one number.
enum Scorer {
    /// Layers of the network itself.
    Classifier(Classifier),
    /// Modules after the network.
    Head(Head),
}

impl Scorer {
    /// Returns whether only the state of the first token counts.
    fn is_cls(&self) -> bool {
        match self {
            Self::Classifier(classifier) => classifier.is_cls(),
            Self::Head(head) => head.is_cls(),
        }
    }
}

impl CrossEncoder {
    pub(crate) fn load(mut folder: Folder, settings: RerankerSettings, plan: Plan) -> Result<Self> {
        let RerankerSettings { config, network, head, tokenizer, activation, .. } = settings;
        let (runner, tensors) = Runner::load(&mut folder, &network, plan, &tokenizer)?;
        let scorer = match head {
            None => Classifier::read(&config, &tensors, runner.hidden).map(Scorer::Classifier),
            Some(head) => head.dim(runner.hidden).and_then(|dim| match dim {
                1 => Ok(Scorer::Head(head)),
                dim => Err(format!("its modules give {dim} values for a pair, but a cross-encoder gives one")),
            }),
        };
        let scorer = scorer.map_err(|problem| folder.error(problem, "name a cross-encoder with one label"))?;
        let revision = folder.revision.as_deref().map(|revision| format!("@{revision}")).unwrap_or_default();
        let id = format!("{}{revision}", folder.id);
        Ok(Self { id, tokenizer, runner, scorer, activation })
    }

    /// Returns what the network says of some pairs.
    fn judge(&self, pairs: &[(usize, TextPair)]) -> Result<Vec<f32>> {
        let texts: Vec<&[u32]> = pairs.iter().map(|(_, pair)| pair.ids.as_slice()).collect();
        let seconds: Vec<usize> = pairs.iter().map(|(_, pair)| pair.second).collect();
        let (stride, hidden) = (self.runner.encoder.stride(), self.runner.hidden);
        let wanted = if self.scorer.is_cls() { StateSelection::First } else { StateSelection::All };
        finite(self.runner.states(&texts, &seconds, wanted, |texts| match &self.scorer {
            Scorer::Classifier(classifier) => texts.map(|states| classifier.judge(states, stride, hidden)).collect(),
            Scorer::Head(head) => texts.flat_map(|states| head.vector(states, stride, hidden)).collect(),
        })?)
    }
}

impl Reranker for CrossEncoder {
    fn id(&self) -> &str {
        &self.id
    }

    fn score(&self, logit: f32) -> f32 {
        self.activation.apply(logit)
    }

    fn logits(&self, question: &str, passages: &[&str]) -> Result<Vec<f32>> {
        let pairs = passages.par_iter().map(|passage| self.tokenizer.pair(question, passage));
        let mut pairs: Vec<(usize, TextPair)> = pairs.collect::<Result<Vec<_>>>()?.into_iter().enumerate().collect();
        // Longest first: otherwise a thread might start a long pair when the others are done.
        pairs.sort_by_key(|(_, pair)| std::cmp::Reverse(pair.ids.len()));
        let most = Most { tokens: BATCH_TOKENS, texts: usize::MAX };
        let batches = split(&pairs, most, true, |(_, pair)| pair.ids.len());
        let judged = batches.par_iter().with_max_len(1).map(|batch| self.judge(batch)).collect::<Result<Vec<_>>>()?;
        let mut logits = vec![0.0; passages.len()];
        for (&(place, _), logit) in batches.into_iter().flatten().zip(judged.into_iter().flatten()) {
            logits[place] = logit;
        }
        Ok(logits)
    }
}
