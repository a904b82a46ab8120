//! The dialects of services, as a table: where a request goes, what is in it, and where its answer has what. The sources of
//! each are named in docs/src/guide/services.md. All limits are defaults of settings.

use chunkmill_base::error::Result;
use serde_json::{Map, Value, json};

use crate::backend::Dialect;
use crate::embedder::Role;
use crate::http::KeyHeader;

/// A request for the vectors of some texts.
pub(super) struct Asked<'a> {
    pub(super) model: &'a str,
    pub(super) role: Role,
    pub(super) texts: &'a [&'a str],
    pub(super) dimensions: Option<usize>,
}

/// The form of a service's requests and answers.
pub(super) struct Form {
    pub(super) dialect: Dialect,
    /// Hosts that speak it; a host below them does too.
    hosts: &'static [&'static str],
    /// The header for the key.
    pub(super) header: KeyHeader,
    /// Largest number of texts in a request.
    pub(super) texts: usize,
    /// Largest number of tokens in a request.
    pub(super) tokens: usize,
    /// Largest number of tokens that a model reads.
    pub(super) text_tokens: fn(model: &str) -> usize,
    /// Path below the endpoint.
    pub(super) path: fn(model: &str) -> String,
    /// The body of a request, without `dimensions`.
    body: fn(&Asked<'_>) -> Value,
    /// Key of the number of values to ask for.
    dimensions: &'static str,
    /// Pointer to the list of vectors in an answer.
    pub(super) list: &'static str,
    /// Key of the vector in an entry of the list; `None` if the entry is the vector.
    pub(super) vector: Option<&'static str>,
    /// Pointers to the number of tokens that the service counted; the first that is there counts.
    pub(super) used: &'static [&'static str],
    /// Texts before documents and questions.
    pub(super) prefixes: fn(model: &str) -> [&'static str; 2],
    /// Whether a request says if its texts are documents or questions.
    pub(super) has_roles: bool,
    /// Whether the path of the endpoint ends in a version, which our path does not go below.
    pub(super) drops_version: bool,
}

/// Number of tokens in a request from which a larger one gains little: with fewer, more requests run at once.
const TOKENS: usize = 16_384;

/// Largest number of texts in a request to a service that does not say how many it takes; some take no more.
const TEXTS: usize = 32;

const OPENAI: Form = Form {
    dialect: Dialect::OpenAi,
    hosts: &["api.openai.com"],
    header: KeyHeader::Bearer,
    texts: TEXTS,
    tokens: TOKENS,
    text_tokens: |_| 8192,
    path: |_| "embeddings".to_owned(),
    body: |asked| json!({"model": asked.model, "input": asked.texts, "encoding_format": "base64"}),
    dimensions: "dimensions",
    list: "/data",
    vector: Some("embedding"),
    used: &["/usage/prompt_tokens", "/usage/total_tokens"],
    prefixes: |_| ["", ""],
    has_roles: false,
    drops_version: false,
};

static FORMS: [Form; 8] = [
    OPENAI,
    Form {
        dialect: Dialect::Tei,
        hosts: &[],
        path: |_| "embed".to_owned(),
        // `truncate: false` refuses what the route of OpenAI's form would cut in silence.
        body: |asked| json!({"inputs": asked.texts, "truncate": false, "normalize": true}),
        text_tokens: |_| 512,
        list: "",
        vector: None,
        used: &[],
        drops_version: true,
        ..OPENAI
    },
    Form {
        dialect: Dialect::Ollama,
        hosts: &[],
        path: |_| "api/embed".to_owned(),
        body: |asked| json!({"model": asked.model, "input": asked.texts, "truncate": false}),
        text_tokens: |_| 2048,
        list: "/embeddings",
        vector: None,
        used: &["/prompt_eval_count"],
        drops_version: true,
        ..OPENAI
    },
    Form {
        dialect: Dialect::Cohere,
        has_roles: true,
        hosts: &["cohere.com", "cohere.ai"],
        texts: 96,
        text_tokens: |model| if model.contains("v3") { 512 } else { 128_000 },
        path: |_| "embed".to_owned(),
        body: |asked| {
            let kind = of_role(asked.role, "search_document", "search_query");
            json!({
                "model": asked.model, "texts": asked.texts, "input_type": kind, "embedding_types": ["float"],
                "truncate": "NONE",
            })
        },
        dimensions: "output_dimension",
        list: "/embeddings/float",
        vector: None,
        used: &["/meta/billed_units/input_tokens"],
        ..OPENAI
    },
    Form {
        dialect: Dialect::Voyage,
        has_roles: true,
        hosts: &["api.voyageai.com", "ai.mongodb.com"],
        texts: 1000,
        text_tokens: |_| 32_000,
        body: |asked| {
            let kind = of_role(asked.role, "document", "query");
            json!({
                "model": asked.model, "input": asked.texts, "input_type": kind, "truncation": false,
                "encoding_format": "base64",
            })
        },
        dimensions: "output_dimension",
        used: &["/usage/total_tokens"],
        ..OPENAI
    },
    Form {
        dialect: Dialect::Jina,
        has_roles: true,
        hosts: &["api.jina.ai"],
        texts: 512,
        body: |asked| {
            let mut body = json!({
                "model": asked.model, "input": asked.texts, "embedding_type": "base64", "normalized": true,
                "truncate": false,
            });
            // Earlier models have no tasks.
            if !asked.model.contains("-v2") {
                body["task"] = of_role(asked.role, "retrieval.passage", "retrieval.query").into();
            }
            body
        },
        ..OPENAI
    },
    Form {
        dialect: Dialect::Gemini,
        has_roles: true,
        hosts: &["generativelanguage.googleapis.com"],
        header: KeyHeader::Named("x-goog-api-key"),
        texts: 100,
        text_tokens: |model| if has_gemini_tasks(model) { 2048 } else { 8192 },
        path: |model| format!("{}:batchEmbedContents", gemini_name(model)),
        body: |asked| {
            let task = of_role(asked.role, "RETRIEVAL_DOCUMENT", "RETRIEVAL_QUERY");
            let each = asked.texts.iter().map(|text| {
                let mut one = json!({"model": gemini_name(asked.model), "content": {"parts": [{"text": text}]}});
                if has_gemini_tasks(asked.model) {
                    one["taskType"] = task.into();
                }
                if let Some(dimensions) = asked.dimensions {
                    one["outputDimensionality"] = dimensions.into();
                }
                one
            });
            json!({"requests": each.collect::<Vec<_>>()})
        },
        dimensions: "",
        list: "/embeddings",
        vector: Some("values"),
        used: &[],
        // The second generation reads the task from the text.
        prefixes: |model| {
            if has_gemini_tasks(model) { ["", ""] } else { ["title: none | text: ", "task: search result | query: "] }
        },
        ..OPENAI
    },
    Form {
        dialect: Dialect::Mistral,
        hosts: &["api.mistral.ai"],
        // A request may have 16,384 tokens by its own count.
        tokens: TOKENS / 2,
        dimensions: "output_dimension",
        ..OPENAI
    },
];

/// OpenAI itself, which takes more than what is compatible with it.
static OPENAI_ITSELF: Form = Form { texts: 2048, ..OPENAI };

fn of_role(role: Role, document: &'static str, query: &'static str) -> &'static str {
    match role {
        Role::Document => document,
        Role::Query => query,
    }
}

fn gemini_name(model: &str) -> String {
    if model.starts_with("models/") { model.to_owned() } else { format!("models/{model}") }
}

fn has_gemini_tasks(model: &str) -> bool {
    !model.contains("embedding-2")
}

impl Form {
    /// Returns the form of a dialect at a host; `None` for `auto` at a host that is not known.
    pub(super) fn of(dialect: Dialect, host: &str) -> Option<&'static Self> {
        let is_at =
            |form: &&Self| form.hosts.iter().any(|known| *known == host || host.ends_with(&format!(".{known}")));
        let by_host = || FORMS.iter().find(is_at);
        let form = match dialect {
            Dialect::Auto => by_host()?,
            named => FORMS.iter().find(|form| form.dialect == named)?,
        };
        Some(if form.dialect == Dialect::OpenAi && is_at(&form) { &OPENAI_ITSELF } else { form })
    }

    /// Returns the body of a request.
    pub(super) fn request(&self, asked: &Asked<'_>) -> Value {
        let mut body = (self.body)(asked);
        if let (Some(dimensions), Value::Object(body), false) =
            (asked.dimensions, &mut body, self.dimensions.is_empty())
        {
            body.insert(self.dimensions.to_owned(), dimensions.into());
        }
        body
    }
}

/// The facts that a service tells of itself and its model, without charge.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct About {
    /// The version of the model.
    pub(super) version: Option<String>,
    /// Largest number of tokens that it reads.
    pub(super) text_tokens: Option<usize>,
    /// Largest number of texts in a request.
    pub(super) texts: Option<usize>,
}

/// Asks a service about itself. `get` and `post` return the JSON of an answer, or `None` if there is none at that path.
pub(super) fn about(
    dialect: Dialect,
    model: &str,
    get: &dyn Fn(&str) -> Result<Option<Value>>,
    post: &dyn Fn(&str, &Value) -> Result<Option<Value>>,
) -> Result<About> {
    let number = |value: &Value| value.as_u64().and_then(|number| usize::try_from(number).ok());
    let text = |value: Option<&Value>| value.and_then(Value::as_str).map(str::to_owned);
    Ok(match dialect {
        Dialect::Tei => {
            let info = get("info")?.unwrap_or_default();
            let version = [text(info.get("model_id")), text(info.get("model_sha")), text(info.get("model_dtype"))];
            let version: Vec<String> = version.into_iter().flatten().collect();
            About {
                version: (!version.is_empty()).then(|| version.join(" ")),
                text_tokens: info.get("max_input_length").and_then(number),
                texts: info.get("max_client_batch_size").and_then(number),
            }
        }
        Dialect::Ollama => {
            let shown = post("api/show", &json!({"model": model}))?.unwrap_or_default();
            let about: Option<&Map<String, Value>> = shown.get("model_info").and_then(Value::as_object);
            let reads = about.and_then(|about| about.iter().find(|(key, _)| key.ends_with(".context_length")));
            let tags = get("api/tags")?.unwrap_or_default();
            let models = tags.get("models").and_then(Value::as_array).into_iter().flatten();
            let is_it = |of: &&Value| {
                let name = of.get("model").or(of.get("name")).and_then(Value::as_str).unwrap_or_default();
                name == model || name.strip_suffix(":latest") == Some(model)
            };
            let digest = models.into_iter().find(is_it).and_then(|of| text(of.get("digest")));
            About { version: digest, text_tokens: reads.and_then(|(_, value)| number(value)), texts: None }
        }
        _ => About::default(),
    })
}

/// Returns the form of a host that is not known by its name: it is asked for what only TEI or Ollama have.
pub(super) fn ask(host: &str, get: &dyn Fn(&str) -> Result<Option<Value>>) -> Result<&'static Form> {
    let has = |path: &str, key: &str| Ok(get(path)?.is_some_and(|answer| answer.get(key).is_some()));
    let dialect = if has("info", "max_client_batch_size")? {
        Dialect::Tei
    } else if has("api/version", "version")? {
        Dialect::Ollama
    } else {
        Dialect::OpenAi
    };
    Ok(Form::of(dialect, host).unwrap_or(&FORMS[0]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_has_its_dialect_and_a_name_wins() {
        let of = |dialect, host| Form::of(dialect, host).map(|form| (form.dialect, form.texts));
        for (host, dialect) in [
            ("api.openai.com", Dialect::OpenAi),
            ("eu.api.openai.com", Dialect::OpenAi),
            ("api.cohere.com", Dialect::Cohere),
            ("api.voyageai.com", Dialect::Voyage),
            ("api.jina.ai", Dialect::Jina),
            ("generativelanguage.googleapis.com", Dialect::Gemini),
            ("api.mistral.ai", Dialect::Mistral),
        ] {
            assert_eq!(of(Dialect::Auto, host).map(|(dialect, _)| dialect), Some(dialect), "{host}");
        }
        assert_eq!(of(Dialect::Auto, "localhost"), None);
        assert_eq!(of(Dialect::Auto, "notapi.openai.com.evil.example"), None);
        assert_eq!(of(Dialect::OpenAi, "api.openai.com"), Some((Dialect::OpenAi, 2048)));
        assert_eq!(of(Dialect::OpenAi, "localhost"), Some((Dialect::OpenAi, TEXTS)));
        assert_eq!(of(Dialect::Tei, "api.openai.com").map(|(dialect, _)| dialect), Some(Dialect::Tei));
        let named: Vec<Dialect> = Dialect::ALL.into_iter().filter(|dialect| *dialect != Dialect::Auto).collect();
        assert_eq!(FORMS.iter().map(|form| form.dialect).collect::<Vec<_>>(), named, "one form for each");
    }

    #[test]
    fn each_request_says_its_role_and_refuses_to_be_cut() {
        let body = |dialect, model, role, dimensions| -> Value {
            let form = Form::of(dialect, "localhost").unwrap_or(&FORMS[0]);
            let asked = Asked { model, role, texts: &["a", "b"], dimensions };
            form.request(&asked)
        };
        let (document, query) = (Role::Document, Role::Query);
        assert_eq!(
            body(Dialect::OpenAi, "m", document, None),
            json!({"model": "m", "input": ["a", "b"], "encoding_format": "base64"})
        );
        assert_eq!(body(Dialect::OpenAi, "m", query, Some(8))["dimensions"], 8);
        assert_eq!(
            body(Dialect::Tei, "m", query, None),
            json!({"inputs": ["a", "b"], "truncate": false, "normalize": true})
        );
        assert_eq!(body(Dialect::Ollama, "m", query, None)["truncate"], false);
        let cohere = body(Dialect::Cohere, "m", query, Some(256));
        assert_eq!((&cohere["input_type"], &cohere["truncate"]), (&json!("search_query"), &json!("NONE")));
        assert_eq!(cohere["output_dimension"], 256);
        assert_eq!(body(Dialect::Voyage, "m", document, None)["input_type"], "document");
        assert_eq!(body(Dialect::Voyage, "m", document, None)["truncation"], false);
        assert_eq!(body(Dialect::Jina, "jina-embeddings-v3", query, None)["task"], "retrieval.query");
        assert_eq!(body(Dialect::Jina, "jina-embeddings-v2-base-en", query, None)["task"], Value::Null);
        assert_eq!(body(Dialect::Mistral, "m", document, Some(8))["output_dimension"], 8);
        let gemini = body(Dialect::Gemini, "gemini-embedding-001", document, Some(768));
        assert_eq!(
            gemini["requests"][1],
            json!({
                "model": "models/gemini-embedding-001", "content": {"parts": [{"text": "b"}]},
                "taskType": "RETRIEVAL_DOCUMENT", "outputDimensionality": 768,
            })
        );
        assert_eq!(body(Dialect::Gemini, "gemini-embedding-2", document, None)["requests"][0]["taskType"], Value::Null);
    }
}
