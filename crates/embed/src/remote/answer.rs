//! What a service answered: a vector for each text, or why it is none. Services err in many ways; nothing here trusts them.

use std::collections::BTreeSet;

use base64::Engine as _;
use base64::alphabet::STANDARD;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use chunkmill_base::value::count;
use regex::Regex;
use serde_json::Value;

use super::dialect::Form;
use crate::embedder::{MAX_DIM, is_zero, normalize};

/// An answer that has something for each text.
#[derive(Debug, PartialEq)]
pub(super) struct Answer {
    /// For each text its vector, of length 1, or what is wrong with it.
    pub(super) vectors: Vec<Result<Vec<f32>, String>>,
    /// Number of tokens that the service counted.
    pub(super) used: Option<u64>,
    /// The model, as the service names it.
    pub(super) model: Option<String>,
}

/// Reads the answer for `texts` texts, whose vectors have `dim` values if that is known already. Returns what is wrong with
/// it as a whole.
pub(super) fn read(form: &Form, body: &str, texts: usize, dim: Option<usize>) -> Result<Answer, String> {
    let parsed = parse(body).map_err(|error| format!("its answer is not understood ({error})"))?;
    let list = parsed.pointer(form.list).and_then(Value::as_array).ok_or("its answer has no list of vectors")?;
    if list.len() != texts {
        return Err(format!("it answered with {} for {}", count(list.len(), "vector"), count(texts, "text")));
    }
    let places = places(list)?;
    let mut vectors: Vec<Result<Vec<f32>, String>> = vec![Ok(Vec::new()); texts];
    let mut lengths = BTreeSet::new();
    for (entry, place) in list.iter().zip(places) {
        let value = form.vector.map_or(Some(entry), |key| entry.get(key));
        let vector = floats(value.unwrap_or(&Value::Null));
        lengths.extend(vector.iter().map(Vec::len));
        vectors[place] = vector.and_then(checked);
    }
    let is_wrong = |length: &usize| dim.is_some_and(|dim| dim != *length) || !(1..=MAX_DIM).contains(length);
    if let Some(wrong) = lengths.iter().copied().find(is_wrong).or_else(|| lengths.iter().nth(1).copied()) {
        let wanted = dim.or(lengths.first().copied()).unwrap_or_default();
        return Err(format!("it answered with a vector of {}, not of {wanted}", count(wrong, "value")));
    }
    // Some services count nothing and say 0.
    let used = form.used.iter().find_map(|pointer| parsed.pointer(pointer)?.as_u64()).filter(|used| *used > 0);
    let model = parsed.get("model").and_then(Value::as_str).map(str::to_owned);
    Ok(Answer { vectors, used, model })
}

/// Parses JSON, also with the words `NaN` and `Infinity` among its numbers, which some services write.
fn parse(body: &str) -> Result<Value, serde_json::Error> {
    serde_json::from_str(body).or_else(|error| {
        // A number stands between brackets and commas; a name stands in quotes.
        let Ok(words) = Regex::new(r"([\[,]\s*)-?(?:NaN|nan|Infinity|inf)\b") else { return Err(error) };
        serde_json::from_str(&words.replace_all(body, "${1}null")).map_err(|_| error)
    })
}

/// Returns the place of each entry among the texts: its `index`, if entries have one.
fn places(list: &[Value]) -> Result<Vec<usize>, String> {
    let indexes: Vec<Option<usize>> =
        list.iter().map(|entry| usize::try_from(entry.get("index")?.as_u64()?).ok()).collect();
    if indexes.iter().all(Option::is_none) {
        return Ok((0..list.len()).collect());
    }
    let places: Vec<usize> = indexes.into_iter().flatten().collect();
    let distinct: BTreeSet<usize> = places.iter().copied().filter(|place| *place < list.len()).collect();
    if distinct.len() == list.len() {
        Ok(places)
    } else {
        Err("its answer does not say which vector is whose".to_owned())
    }
}

/// Reads a vector: numbers, or the base64 of their 32 bits in little-endian order. The kind of JSON value decides, not what
/// was asked for: services ignore that.
fn floats(value: &Value) -> Result<Vec<f32>, String> {
    match value {
        Value::Array(numbers) => numbers
            .iter()
            .map(|number| {
                #[expect(clippy::cast_possible_truncation, reason = "vectors are single precision")]
                let number = number.as_f64().map(|number| number as f32);
                number.ok_or_else(|| format!("it answered with a vector that contains {}", shown(number_kind(value))))
            })
            .collect(),
        Value::String(text) => {
            let bytes = base64(text).ok_or("it answered with a text that is no base64")?;
            let (values, rest) = bytes.as_chunks();
            if rest.is_empty() {
                Ok(values.iter().map(|&bytes| f32::from_le_bytes(bytes)).collect())
            } else {
                Err(format!("it answered with {}, which are no 32-bit numbers", count(bytes.len(), "byte")))
            }
        }
        other => Err(format!("it answered with {} instead of a vector", shown(other))),
    }
}

/// Returns the first value of a vector that is no number.
fn number_kind(vector: &Value) -> &Value {
    let values = vector.as_array().into_iter().flatten();
    values.into_iter().find(|value| value.as_f64().is_none()).unwrap_or(&Value::Null)
}

fn shown(value: &Value) -> String {
    match value {
        Value::Null => "null".to_owned(),
        other => other.to_string().chars().take(40).collect(),
    }
}

/// Returns a vector scaled to length 1, or what is wrong with it.
fn checked(mut vector: Vec<f32>) -> Result<Vec<f32>, String> {
    if vector.iter().any(|value| !value.is_finite()) {
        return Err("it answered with a vector whose values are not all finite".to_owned());
    }
    if is_zero(&vector) {
        return Err("it answered with a vector of zeros".to_owned());
    }
    normalize(&mut vector);
    Ok(vector)
}

/// Decodes standard base64; padding may be missing.
fn base64(text: &str) -> Option<Vec<u8>> {
    const BASE64: GeneralPurpose = GeneralPurpose::new(
        &STANDARD,
        GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
    );
    BASE64.decode(text).ok()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::backend::Dialect;

    fn of(dialect: Dialect, body: &Value, texts: usize, dim: Option<usize>) -> Result<Answer, String> {
        read(Form::of(dialect, "localhost").ok_or("no form")?, &body.to_string(), texts, dim)
    }

    fn encoded(vector: &[f32]) -> String {
        base64::engine::general_purpose::STANDARD
            .encode(vector.iter().flat_map(|value| value.to_le_bytes()).collect::<Vec<_>>())
    }

    #[test]
    fn either_form_of_a_vector_is_read_whatever_was_asked_for() {
        let (floats, text) = (json!([0.6, 0.8]), json!(encoded(&[0.6, 0.8])));
        for first in [&floats, &text] {
            let body = json!({"data": [{"index": 0, "embedding": first}, {"index": 1, "embedding": text}],
                "usage": {"prompt_tokens": 5, "total_tokens": 7}, "model": "m"});
            let answer = of(Dialect::OpenAi, &body, 2, Some(2));
            let vectors = vec![Ok(vec![0.6, 0.8]); 2];
            assert_eq!(answer, Ok(Answer { vectors, used: Some(5), model: Some("m".to_owned()) }));
        }
    }

    #[test]
    fn each_dialect_has_its_vectors_elsewhere() {
        for (dialect, body, used) in [
            (Dialect::Tei, json!([[2.0, 0.0], [0.0, 3.0]]), None),
            (Dialect::Ollama, json!({"embeddings": [[1, 0], [0, 1]], "prompt_eval_count": 4}), Some(4)),
            (
                Dialect::Cohere,
                json!({"embeddings": {"float": [[1, 0], [0, 1]]}, "meta": {"billed_units": {"input_tokens": 9}}}),
                Some(9),
            ),
            (Dialect::Gemini, json!({"embeddings": [{"values": [1, 0]}, {"values": [0, 1]}]}), None),
            (
                Dialect::Voyage,
                json!({"data": [{"embedding": [1, 0]}, {"embedding": [0, 1]}], "usage": {"total_tokens": 3}}),
                Some(3),
            ),
        ] {
            let answer = of(dialect, &body, 2, None);
            let vectors = vec![Ok(vec![1.0, 0.0]), Ok(vec![0.0, 1.0])];
            assert_eq!(answer, Ok(Answer { vectors, used, model: None }), "{dialect}");
        }
    }

    #[test]
    fn vectors_are_in_the_order_of_their_indexes_and_there_is_one_for_each_text() {
        let entry = |index: usize, x: f32| json!({"index": index, "embedding": [x, 1.0 - x]});
        let body = |entries: &[Value]| json!({"data": entries});
        let answer = of(Dialect::OpenAi, &body(&[entry(1, 0.0), entry(0, 1.0)]), 2, None);
        assert_eq!(answer.map(|answer| answer.vectors), Ok(vec![Ok(vec![1.0, 0.0]), Ok(vec![0.0, 1.0])]));
        for (wrong, says) in [
            (vec![entry(0, 1.0)], "1 vector for 2 texts"),
            (vec![entry(0, 1.0), entry(1, 1.0), entry(2, 1.0)], "3 vectors for 2 texts"),
            (vec![entry(0, 1.0), entry(0, 1.0)], "whose"),
            (vec![entry(0, 1.0), entry(2, 1.0)], "whose"),
            (vec![entry(0, 1.0), json!({"index": 1, "embedding": [1, 2, 3]})], "3 values, not of 2"),
        ] {
            let problem = of(Dialect::OpenAi, &body(&wrong), 2, None).err().unwrap_or_default();
            assert!(problem.contains(says), "{problem}");
        }
        let problem = of(Dialect::OpenAi, &body(&[entry(0, 1.0)]), 1, Some(3)).err().unwrap_or_default();
        assert!(problem.contains("2 values, not of 3"), "{problem}");
    }

    #[test]
    fn a_vector_that_is_none_spoils_no_other() {
        for (wrong, says) in [
            ("null", "null instead of a vector"),
            ("[null, 1]", "contains null"),
            ("[NaN, 1]", "contains null"),
            ("[1, -Infinity]", "contains null"),
            ("[\"a\", 1]", "contains \"a\""),
            ("[1e99, 1]", "not all finite"),
            ("[0, 0.0]", "zeros"),
            ("\"AAAA\"", "3 bytes"),
            ("\"!\"", "no base64"),
            ("{}", "instead of a vector"),
        ] {
            let body =
                format!(r#"{{"model": "nan inf", "data": [{{"embedding": {wrong}}}, {{"embedding": [0, 1]}}]}}"#);
            let form = Form::of(Dialect::OpenAi, "localhost");
            let answer = form.ok_or("no form".to_owned()).and_then(|form| read(form, &body, 2, Some(2)));
            let vectors = answer.map(|answer| answer.vectors).unwrap_or_default();
            assert!(
                matches!(vectors.as_slice(), [Err(problem), Ok(_)] if problem.contains(says)),
                "{wrong}: {vectors:?}"
            );
        }
    }

    #[test]
    fn what_is_no_answer_is_refused() {
        for body in ["", "<html>", "{}", "[]", "{\"data\": {}}", "{\"data\": [", "null", "NaN"] {
            let form = Form::of(Dialect::OpenAi, "localhost");
            assert!(form.is_some_and(|form| read(form, body, 1, None).is_err()), "{body}");
        }
    }
}
