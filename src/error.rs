//! What can go wrong, and what the process then says to its caller.
//!
//! Two kinds of trouble are kept apart. An [`Error`] stops the job. A [`Skip`] concerns one
//! document: it is reported, written to the quarantine list and passed over. Exit codes are
//! decided here and nowhere else.

use std::io;
use std::path::PathBuf;

/// The exit codes of every chunkmill program.
pub mod exit {
    /// The job is done and every discovered document is in the result.
    pub const DONE: u8 = 0;
    /// A gate or a verification failed.
    pub const CHECK_FAILED: u8 = 1;
    /// The command line, the environment or a settings file is wrong.
    pub const USAGE: u8 = 2;
    /// The job is done, but documents were put into quarantine.
    pub const QUARANTINED: u8 = 3;
    /// Another process writes to the dataset, or has just done so.
    pub const LOCKED: u8 = 4;
    /// The job failed.
    pub const FAILED: u8 = 5;
    /// The user interrupted the job.
    pub const INTERRUPTED: u8 = 130;
}

/// A failure that stops the job. Each variant says what was wrong, where, and what to do.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A setting is wrong; `origin` is the flag, variable or file (with line) that holds it.
    #[error("{origin}: {problem}\n  help: {help}")]
    Setting {
        /// The flag, environment variable, or `file:line` of the setting.
        origin: String,
        /// What is wrong with it.
        problem: String,
        /// What to write instead.
        help: String,
    },
    /// A corpus root, or two documents together, cannot be used.
    #[error("{}: {problem}\n  help: {help}", path.display())]
    Corpus {
        /// The root or document.
        path: PathBuf,
        /// What is wrong with it.
        problem: String,
        /// What to do about it.
        help: String,
    },
    /// The operating system refused something.
    #[error("cannot {action} {}: {source}", path.display())]
    Io {
        /// What was being done, as a verb: "read", "write", "rename".
        action: &'static str,
        /// The file or folder it was done to.
        path: PathBuf,
        /// The system's own reason.
        source: io::Error,
    },
    /// A file that the user named cannot be read, for a reason that lies with the name.
    #[error("cannot read {}: {source}\n  help: {help}", path.display())]
    Named {
        /// The file or folder.
        path: PathBuf,
        /// The system's own reason.
        source: io::Error,
        /// What to name instead.
        help: String,
    },
    /// There is no room for what was to be written.
    #[error("cannot {action} {}: {source}\n  help: make room for about {} MB there; what is finished is kept, and the next run continues", path.display(), need.div_ceil(1_000_000))]
    NoSpace {
        /// What was being done, as a verb: "write", "create".
        action: &'static str,
        /// The file it was done to.
        path: PathBuf,
        /// The system's own reason.
        source: io::Error,
        /// About how many bytes are still to be written.
        need: u64,
    },
    /// A model cannot be found, trusted or loaded.
    #[error("model {model}: {problem}\n  help: {help}")]
    Model {
        /// The folder or hub id.
        model: String,
        /// What is wrong with it.
        problem: String,
        /// What to do about it.
        help: String,
    },
    /// The tensor library or the tokenizer failed on an input.
    #[error("embedding failed while {doing}: {problem}")]
    Embed {
        /// The step, as a gerund: "tokenizing".
        doing: &'static str,
        /// What the library said.
        problem: String,
    },
    /// Texts are longer than the model reads, and the caller asked that this be an error.
    #[error(
        "{count} chunks are longer than the {max_tokens} tokens the model reads, the first in {first}\n  help: lower --max (unit `model` counts the model's own tokens), or drop --deny-truncation"
    )]
    Truncated {
        /// How many chunks would be cut.
        count: usize,
        /// The model's limit.
        max_tokens: usize,
        /// Chunk id of the first.
        first: String,
    },
    /// A dataset on disk is not what it says it is.
    #[error("dataset {}: {problem}\n  help: {help}", path.display())]
    Dataset {
        /// The dataset folder or the file inside it.
        path: PathBuf,
        /// What is wrong with it.
        problem: String,
        /// What to do about it.
        help: String,
    },
    /// A language model could not be asked, or did not answer. The endpoint is without credentials.
    #[error("endpoint {endpoint}: {problem}\n  help: {help}")]
    Answer {
        /// Base URL of the service.
        endpoint: String,
        /// What went wrong.
        problem: String,
        /// What to do about it.
        help: String,
    },
    /// Another process writes to the dataset.
    #[error("dataset {}: is being written by {holder}\n  help: wait until it has ended, or name another folder", path.display())]
    Locked {
        /// The dataset's folder.
        path: PathBuf,
        /// Who, as that process wrote it down.
        holder: String,
    },
    /// Another process has committed to a dataset that knows no locks.
    #[error("dataset {}: was replaced by another run since this one began\n  help: run again: it takes over what is there", path.display())]
    Replaced {
        /// Where the dataset is.
        path: PathBuf,
    },
    /// The user pressed Ctrl-C. What was finished is kept for the next run.
    #[error("interrupted; the dataset is as it was before, and the next run continues")]
    Interrupted,
}

impl Error {
    /// What was asked for, at `origin`, needs a feature that this program was built without.
    #[cfg(not(all(feature = "answer", feature = "candle", feature = "object-store")))]
    pub(crate) fn without(feature: &str, origin: &str) -> Self {
        Self::Setting {
            origin: origin.to_owned(),
            problem: format!("this program was built without the feature `{feature}`"),
            help: format!("build it with `--features {feature}`, or take a released program, which has it"),
        }
    }

    /// A file-system failure, for use with `map_err`.
    pub fn io(action: &'static str, path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        move |source| Self::Io { action, path, source }
    }

    /// A failure to read what the user named, for use with `map_err`. Where another name would not help, it is one of the
    /// file system.
    pub fn named(path: impl Into<PathBuf>, help: impl Into<String>) -> impl FnOnce(io::Error) -> Self {
        use io::ErrorKind::{
            InvalidData, InvalidFilename, InvalidInput, IsADirectory, NotADirectory, NotFound, PermissionDenied,
        };
        let (path, help) = (path.into(), help.into());
        move |source| match source.kind() {
            NotFound | NotADirectory | IsADirectory | PermissionDenied | InvalidData | InvalidFilename
            | InvalidInput => Self::Named { path, source, help },
            _ => Self::Io { action: "read", path, source },
        }
    }

    /// Adds to a failure for want of room about how many bytes are still to be written.
    #[must_use]
    pub(crate) fn with_need(self, need: u64) -> Self {
        use io::ErrorKind::{FileTooLarge, QuotaExceeded, StorageFull};
        match self {
            Self::Io { action, path, source }
                if matches!(source.kind(), FileTooLarge | QuotaExceeded | StorageFull) =>
            {
                Self::NoSpace { action, path, source, need }
            }
            other => other,
        }
    }

    /// The process exit code for this failure.
    #[must_use]
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::Setting { .. } | Self::Corpus { .. } | Self::Named { .. } => exit::USAGE,
            Self::Io { .. }
            | Self::NoSpace { .. }
            | Self::Model { .. }
            | Self::Embed { .. }
            | Self::Truncated { .. }
            | Self::Dataset { .. }
            | Self::Answer { .. } => exit::FAILED,
            Self::Locked { .. } | Self::Replaced { .. } => exit::LOCKED,
            Self::Interrupted => exit::INTERRUPTED,
        }
    }
}

/// The result type of every fallible function in this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why one document was passed over. It goes to `quarantine.jsonl` with the document's path.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Skip {
    /// The file could not be read.
    #[error("cannot be read: {0}")]
    Unreadable(#[source] io::Error),
    /// The bytes are not text in a supported encoding.
    #[error("is not valid {encoding} (first bad byte at offset {offset})")]
    Encoding {
        /// The encoding that the first bytes promise.
        encoding: &'static str,
        /// Byte offset of the first offence.
        offset: usize,
    },
    /// The file is larger than the limit.
    #[error("is {bytes} bytes, over the limit of {limit}")]
    TooLarge {
        /// Size of the file.
        bytes: u64,
        /// The limit in force.
        limit: u64,
    },
    /// The document would take more memory than it may.
    #[error("may take {memory} bytes of memory, over the limit of {limit}; --document-memory and --memory set it")]
    TooCostly {
        /// What it takes at least, or may take.
        memory: u64,
        /// The limit in force.
        limit: u64,
    },
    /// A symbolic link to what is not in the corpus, or to nothing.
    #[error("is a symbolic link; links are not followed, and what it leads to is not in the corpus")]
    Symlink,
    /// A pipe with a name: who opens it waits for who writes to it.
    #[error("is a FIFO, not a file; it is never opened")]
    Fifo,
    /// A socket with a name.
    #[error("is a socket, not a file; it is never opened")]
    Socket,
    /// A device of characters or blocks.
    #[error("is a device, not a file; it is never opened")]
    Device,
    /// The document holds what its security profile does not let in.
    #[error(
        "holds `{signal}` in line {line}, which the security profile `{profile}` blocks; --allow-blocked admits it"
    )]
    Blocked {
        /// Name of the signal.
        signal: &'static str,
        /// Name of the profile.
        profile: &'static str,
        /// Line of the signal, from 1.
        line: usize,
    },
    /// The name cannot be written in UTF-8, so no document id can be made from it.
    #[error("has a name that is not UTF-8")]
    Name,
}

impl Skip {
    /// A short stable word for machines.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::Unreadable(_) => "unreadable",
            Self::Encoding { .. } => "encoding",
            Self::TooLarge { .. } => "too_large",
            Self::TooCostly { .. } => "too_costly",
            Self::Symlink => "symlink",
            Self::Fifo => "fifo",
            Self::Socket => "socket",
            Self::Device => "device",
            Self::Blocked { .. } => "blocked",
            Self::Name => "name",
        }
    }
}
