//! The layers after a network that scores pairs of texts: they turn the states of the tokens into one number.

use serde_json::{Value, json};

use crate::fields::Fields;
use crate::head::{Activation, Dense, Pooling, layer_norm};
use crate::tensors::{Tensors, prefix};

/// The layers after the network.
#[derive(Debug)]
pub(super) struct Classifier {
    pooling: Pooling,
    dense: Dense,
    /// Weights and biases, and the epsilon that is added to variances.
    norm: Option<([Vec<f32>; 2], f64)>,
    out: Dense,
}

/// A family's names for the layers, and the operations between them.
struct LayerNames {
    dense: &'static str,
    activation: Activation,
    norm: Option<&'static str>,
    out: &'static str,
}

/// In BERT, the first layer is part of the network.
const BERT: LayerNames =
    LayerNames { dense: "pooler.dense", activation: Activation::Tanh, norm: None, out: "classifier" };
const ROBERTA: LayerNames = LayerNames { dense: "classifier.dense", out: "classifier.out_proj", ..BERT };
const DISTIL: LayerNames = LayerNames { dense: "pre_classifier", activation: Activation::Relu, ..BERT };
const MODERN: LayerNames =
    LayerNames { dense: "head.dense", activation: Activation::Gelu, norm: Some("head.norm"), out: "classifier" };

impl Classifier {
    /// Reads the layers after a network of this width, or returns why there are none.
    pub(super) fn read(config: &[u8], tensors: &Tensors, hidden: usize) -> Result<Self, String> {
        let fields = serde_json::from_slice(config).map(Fields).map_err(|error| format!("config.json: {error}"))?;
        let labels = fields.get("id2label").and_then(Value::as_object).map_or(2, serde_json::Map::len);
        if labels != 1 {
            return Err(format!("it has {labels} labels, but a cross-encoder has one"));
        }
        let kind = fields.get("model_type").and_then(Value::as_str).unwrap_or_default();
        let layout = match kind {
            "bert" => BERT,
            "roberta" | "xlm-roberta" | "camembert" | "mpnet" => ROBERTA,
            "distilbert" => DISTIL,
            "modernbert" => MODERN,
            _ => return Err(format!("chunkmill does not support cross-encoders of type `{kind}`")),
        };
        fields.only("classifier_activation", &[json!("gelu")])?;
        let pooling = match fields.get("classifier_pooling").and_then(Value::as_str).filter(|_| kind == "modernbert") {
            None | Some("cls") => Pooling::Cls,
            Some("mean") => Pooling::Mean,
            Some(other) => return Err(format!("`classifier_pooling` is `{other}`, which is not supported")),
        };
        let tensor = |name: &str, shape: &[usize]| {
            let all = format!("{}{name}", prefix(tensors.names(), &[name]));
            let missing = || Err(format!("there is no tensor `{name}`; is the model a cross-encoder?"));
            tensors.shaped(&all, shape).unwrap_or_else(missing)
        };
        // Some families have no biases here.
        let bias = |name: &str, count: usize| {
            let name = format!("{name}.bias");
            let there = tensors.names().any(|known| known.ends_with(&name));
            if there { tensor(&name, &[count]) } else { Ok(vec![0.0; count]) }
        };
        let linear = |name: &str, outputs: usize, activation: Activation| {
            let rows = tensor(&format!("{name}.weight"), &[outputs, hidden])?;
            Ok::<_, String>(Dense::new(&rows, bias(name, outputs)?, activation))
        };
        let norm = |name: &str| {
            let epsilon = fields.get("norm_eps").and_then(Value::as_f64).unwrap_or(1e-5);
            Ok::<_, String>(([tensor(&format!("{name}.weight"), &[hidden])?, bias(name, hidden)?], epsilon))
        };
        Ok(Self {
            pooling,
            dense: linear(layout.dense, hidden, layout.activation)?,
            norm: layout.norm.map(norm).transpose()?,
            out: linear(layout.out, 1, Activation::Identity)?,
        })
    }

    /// Returns whether only the state of the first token counts.
    pub(super) fn is_cls(&self) -> bool {
        self.pooling == Pooling::Cls
    }

    /// Returns the score of a pair from the states of its tokens, which are `stride` floats apart and `hidden`
    /// wide.
    pub(super) fn judge(&self, states: &[f32], stride: usize, hidden: usize) -> f32 {
        let mut pooled = vec![0.0; hidden];
        self.pooling.pool(states, stride, &mut pooled);
        let mut vector = self.dense.apply(&pooled);
        if let Some((weights, epsilon)) = &self.norm {
            layer_norm(&mut vector, weights, *epsilon);
        }
        self.out.apply(&vector).first().copied().unwrap_or_default()
    }
}
