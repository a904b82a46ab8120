//! Widely used models, with the figures that their authors publish. `chunkmill model list` prints them and
//! `docs/src/guide/models.md` explains them.

/// A model and its published properties.
#[derive(Debug)]
pub struct KnownModel {
    /// Hub id.
    pub id: &'static str,
    /// Type of network, as `config.json` names it, or `static`.
    pub network: &'static str,
    /// Millions of parameters: all, and those used for each text, without the word embeddings.
    pub parameters: [f32; 2],
    /// Length of a vector.
    pub dimensions: usize,
    /// Maximum number of tokens it reads; `None` if it reads the whole text.
    pub tokens: Option<usize>,
    /// SPDX id of the licence.
    pub licence: &'static str,
    /// Published retrieval quality.
    pub quality: Quality,
}

/// Retrieval quality: mean nDCG@10 in percent. Figures over different sets cannot be compared.
#[derive(Debug)]
pub enum Quality {
    /// Over the 15 English sets of BEIR (Thakur et al. 2021), which MTEB's first version calls retrieval.
    Beir(f32),
    /// Over the 18 retrieval sets of MTEB Multilingual, version 2 (Enevoldsen et al. 2025).
    Multilingual(f32),
}

impl KnownModel {
    /// Returns the model with a hub id.
    pub fn find(id: &str) -> Option<&'static Self> {
        KNOWN.iter().find(|known| known.id == id)
    }

    /// Returns whether it was trained for English alone.
    pub fn is_english(&self) -> bool {
        matches!(self.quality, Quality::Beir(_))
    }
}

/// The models, grouped by kind of quality, best first.
pub const KNOWN: [KnownModel; 14] = [
    KnownModel {
        id: "Alibaba-NLP/gte-modernbert-base",
        network: "modernbert",
        parameters: [149.0, 110.3],
        dimensions: 768,
        tokens: Some(8192),
        licence: "Apache-2.0",
        quality: Quality::Beir(55.33),
    },
    KnownModel {
        id: "MongoDB/mdbr-leaf-ir",
        network: "bert",
        parameters: [22.7, 11.0],
        dimensions: 768,
        tokens: Some(512),
        licence: "Apache-2.0",
        quality: Quality::Beir(53.55),
    },
    KnownModel {
        id: "nomic-ai/nomic-embed-text-v1.5",
        network: "nomic_bert",
        parameters: [137.0, 113.6],
        dimensions: 768,
        tokens: Some(8192),
        licence: "Apache-2.0",
        quality: Quality::Beir(53.01),
    },
    KnownModel {
        id: "BAAI/bge-small-en-v1.5",
        network: "bert",
        parameters: [33.4, 21.7],
        dimensions: 384,
        tokens: Some(512),
        licence: "MIT",
        quality: Quality::Beir(51.68),
    },
    KnownModel {
        id: "ibm-granite/granite-embedding-small-english-r2",
        network: "modernbert",
        parameters: [47.0, 28.3],
        dimensions: 384,
        tokens: Some(8192),
        licence: "Apache-2.0",
        quality: Quality::Beir(50.9),
    },
    KnownModel {
        id: "Snowflake/snowflake-arctic-embed-xs",
        network: "bert",
        parameters: [22.7, 11.0],
        dimensions: 384,
        tokens: Some(512),
        licence: "Apache-2.0",
        quality: Quality::Beir(50.15),
    },
    KnownModel {
        id: "sentence-transformers/all-MiniLM-L6-v2",
        network: "bert",
        parameters: [22.7, 11.0],
        dimensions: 384,
        tokens: Some(256),
        licence: "Apache-2.0",
        quality: Quality::Beir(41.95),
    },
    KnownModel {
        id: "minishlab/potion-retrieval-32M",
        network: "static",
        parameters: [32.3, 0.0],
        dimensions: 512,
        tokens: Some(512),
        licence: "MIT",
        quality: Quality::Beir(36.35),
    },
    KnownModel {
        id: "sentence-transformers/static-retrieval-mrl-en-v1",
        network: "static",
        parameters: [31.3, 0.0],
        dimensions: 1024,
        tokens: None,
        licence: "Apache-2.0",
        quality: Quality::Beir(35.61),
    },
    KnownModel {
        id: "minishlab/potion-base-8M",
        network: "static",
        parameters: [7.6, 0.0],
        dimensions: 256,
        tokens: Some(512),
        licence: "MIT",
        quality: Quality::Beir(31.71),
    },
    KnownModel {
        id: "ibm-granite/granite-embedding-97m-multilingual-r2",
        network: "modernbert",
        parameters: [97.0, 28.3],
        dimensions: 384,
        tokens: Some(32_768),
        licence: "Apache-2.0",
        quality: Quality::Multilingual(59.6),
    },
    KnownModel {
        id: "hotchpotch/bekko-embedding-v1-a25m",
        network: "modernbert",
        parameters: [123.2, 24.9],
        dimensions: 384,
        tokens: Some(8192),
        licence: "MIT",
        quality: Quality::Multilingual(57.5),
    },
    KnownModel {
        id: "hotchpotch/bekko-embedding-v1-a8m",
        network: "modernbert",
        parameters: [106.0, 7.7],
        dimensions: 384,
        tokens: Some(8192),
        licence: "MIT",
        quality: Quality::Multilingual(56.2),
    },
    KnownModel {
        id: "intfloat/multilingual-e5-small",
        network: "bert",
        parameters: [118.0, 21.6],
        dimensions: 384,
        tokens: Some(512),
        licence: "MIT",
        quality: Quality::Multilingual(50.9),
    },
];
