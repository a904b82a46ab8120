//! Interim.

use serde::Deserialize;

use super::encoder::{Embeddings, LayerWeights, Linear, Norm, Shape};

#[derive(Deserialize)]
struct Config {
    hidden_size: usize,
    num_attention_heads: usize,
    num_hidden_layers: usize,
    intermediate_size: usize,
    layer_norm_eps: f32,
}

/// Shape of a BERT.
pub(super) fn shape(model_type: &str, config: &[u8]) -> Result<Shape, String> {
    if model_type != "bert" {
        return Err(format!("networks of type `{model_type}` are not supported"));
    }
    let c: Config = serde_json::from_slice(config).map_err(|e| e.to_string())?;
    Ok(Shape {
        hidden: c.hidden_size,
        heads: c.num_attention_heads,
        intermediate: c.intermediate_size,
        layers: c.num_hidden_layers,
        epsilon: c.layer_norm_eps,
        first_position: 0,
    })
}

type Source<'a> = &'a dyn Fn(&str) -> Option<(Vec<usize>, Vec<f32>)>;

fn tensor(source: Source<'_>, name: &str) -> Result<Vec<f32>, String> {
    Ok(source(name).ok_or_else(|| format!("no tensor {name}"))?.1)
}

fn linear(source: Source<'_>, name: &str) -> Result<Linear, String> {
    Ok(Linear { weight: tensor(source, &format!("{name}.weight"))?, bias: tensor(source, &format!("{name}.bias"))? })
}

fn norm(source: Source<'_>, name: &str) -> Result<Norm, String> {
    Ok(Norm { weight: tensor(source, &format!("{name}.weight"))?, bias: tensor(source, &format!("{name}.bias"))? })
}

pub(super) fn embeddings(shape: &Shape, source: Source<'_>) -> Result<Embeddings, String> {
    Ok(Embeddings {
        words: tensor(source, "embeddings.word_embeddings.weight")?,
        positions: tensor(source, "embeddings.position_embeddings.weight")?,
        every: tensor(source, "embeddings.token_type_embeddings.weight")?[..shape.hidden].to_vec(),
        norm: norm(source, "embeddings.LayerNorm")?,
    })
}

pub(super) fn layer(index: usize, source: Source<'_>) -> Result<LayerWeights, String> {
    let at = |rest: &str| format!("encoder.layer.{index}.{rest}");
    Ok(LayerWeights {
        attention: [
            linear(source, &at("attention.self.query"))?,
            linear(source, &at("attention.self.key"))?,
            linear(source, &at("attention.self.value"))?,
        ],
        output: linear(source, &at("attention.output.dense"))?,
        output_norm: norm(source, &at("attention.output.LayerNorm"))?,
        up: linear(source, &at("intermediate.dense"))?,
        down: linear(source, &at("output.dense"))?,
        down_norm: norm(source, &at("output.LayerNorm"))?,
    })
}
