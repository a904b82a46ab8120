//! Errors, and the exit codes that report them to the caller of the process.
//!
//! There are two kinds of failure. An [`Error`] stops the job. A [`Skip`] concerns one document, which is
//! reported, written to the quarantine list and skipped. Exit codes are decided here and nowhere else.

use std::cell::Cell;
use std::io;
use std::panic::{self, AssertUnwindSafe};
use std::path::PathBuf;
use std::sync::Once;

use crate::value;

/// The exit codes of every chunkmill program.
pub mod exit {
    /// The job is done and every discovered document is in the result.
    pub const DONE: u8 = 0;
    /// A gate or a verification failed.
    pub const CHECK_FAILED: u8 = 1;
    /// The command line, the environment or a settings file is wrong.
    pub const USAGE: u8 = 2;
    /// The job is done, but some documents were quarantined.
    pub const QUARANTINED: u8 = 3;
    /// Another process is writing to the dataset, or has just done so.
    pub const LOCKED: u8 = 4;
    /// The job failed.
    pub const FAILED: u8 = 5;
    /// The job waits for a service that computes vectors later. Run it again.
    pub const WAITING: u8 = 6;
    /// The user interrupted the job.
    pub const INTERRUPTED: u8 = 130;
}

/// A failure that stops the job. Each variant says what was wrong, where, and what to do.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// An invalid setting. `origin` is the flag, variable or file (with line) that contains it.
    #[error("{origin}: {problem}\n  help: {help}")]
    Setting {
        /// The flag, environment variable, or `file:line` of the setting.
        origin: String,
        /// The problem.
        problem: String,
        /// A valid setting to write instead.
        help: String,
    },
    /// A corpus root that cannot be used, or documents that cannot be used together.
    #[error("{}: {problem}\n  help: {help}", path.display())]
    Corpus {
        /// The root or document.
        path: PathBuf,
        /// The problem.
        problem: String,
        /// How to fix it.
        help: String,
    },
    /// An operation that the operating system refused.
    #[error("cannot {action} {}: {source}", path.display())]
    Io {
        /// The operation, as a verb: "read", "write", "rename".
        action: &'static str,
        /// The file or folder that it concerned.
        path: PathBuf,
        /// The system's own reason.
        source: io::Error,
    },
    /// A file or folder that the user named and that cannot be read, where a different name would help.
    #[error("cannot read {}: {source}\n  help: {help}", path.display())]
    Named {
        /// The file or folder.
        path: PathBuf,
        /// The system's own reason.
        source: io::Error,
        /// Another name to use.
        help: String,
    },
    /// Not enough space for a file.
    #[error("cannot {action} {}: {source}\n  help: make room for about {} MB there; finished parts are kept, and the next run resumes", path.display(), need.div_ceil(1_000_000))]
    NoSpace {
        /// The operation, as a verb: "write", "create".
        action: &'static str,
        /// The file that it concerned.
        path: PathBuf,
        /// The system's own reason.
        source: io::Error,
        /// Approximate number of bytes that are still to be written.
        need: u64,
    },
    /// A model that cannot be found, trusted or loaded.
    #[error("model {model}: {problem}\n  help: {help}")]
    Model {
        /// The folder or hub id.
        model: String,
        /// The problem.
        problem: String,
        /// How to fix it.
        help: String,
    },
    /// A failure of the tensor library or the tokenizer on an input.
    #[error("embedding failed while {doing}: {problem}")]
    Embed {
        /// The step, as a gerund: "tokenizing".
        doing: &'static str,
        /// The library's message.
        problem: String,
    },
    /// Texts that are longer than the model reads, if the caller asked for an error.
    #[error(
        "{} would be truncated to the {max_tokens} tokens the model reads, the first in {first}\n  help: lower --max (unit `model` counts the model's own tokens), or drop --deny-truncation",
        value::count(*count, "chunk")
    )]
    Truncated {
        /// Number of chunks that would be truncated.
        count: usize,
        /// The model's limit.
        max_tokens: usize,
        /// Id of the first of these chunks.
        first: String,
    },
    /// A dataset on disk that is not what it claims to be.
    #[error("dataset {}: {problem}\n  help: {help}", path.display())]
    Dataset {
        /// The dataset folder or the file inside it.
        path: PathBuf,
        /// The problem.
        problem: String,
        /// How to fix it.
        help: String,
    },
    /// A web service that could not be called or did not answer as it should. The endpoint is shown without credentials.
    #[error("endpoint {endpoint}: {problem}\n  help: {help}")]
    Service {
        /// Base URL of the service.
        endpoint: String,
        /// The problem.
        problem: String,
        /// How to fix it.
        help: String,
    },
    /// A request that would pass what may be spent on a service.
    #[error(
        "stopped before {limit} is passed: {spent}\n  help: every vector so far is kept; run again, or raise the limit"
    )]
    Spent {
        /// The limit, as it was set.
        limit: String,
        /// Tokens so far, and their price.
        spent: String,
    },
    /// A dataset that another process is writing to.
    #[error("dataset {}: is being written by {holder}\n  help: wait until it has finished, or use another folder", path.display())]
    Locked {
        /// The dataset's folder.
        path: PathBuf,
        /// That process, as it described itself.
        holder: String,
    },
    /// A dataset without locks, to which another process has committed.
    #[error("dataset {}: was replaced by another run since this one began\n  help: run again; the new run reuses what is there", path.display())]
    Replaced {
        /// The dataset's location.
        path: PathBuf,
    },
    /// An interruption with Ctrl-C. Finished work is kept for the next run.
    #[error("interrupted; the dataset is unchanged, and the next run resumes")]
    Interrupted,
}

impl Error {
    /// Returns the error for a request at `origin` that needs a feature this program was built without.
    pub fn without(feature: &str, origin: &str) -> Self {
        Self::setting(
            origin,
            format!("this program was built without the feature `{feature}`"),
            format!("build it with `--features {feature}`, or use a released program, which includes it"),
        )
    }

    /// Creates an [`Error::Setting`].
    pub fn setting(origin: impl Into<String>, problem: impl Into<String>, help: impl Into<String>) -> Self {
        Self::Setting { origin: origin.into(), problem: problem.into(), help: help.into() }
    }

    /// Wraps a file-system failure, for use with `map_err`.
    pub fn io(action: &'static str, path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        move |source| Self::Io { action, path, source }
    }

    /// Wraps a failure to read what the user named, for use with `map_err`. If a different name would not help, it
    /// becomes an [`Error::Io`].
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

    /// If the failure is a lack of space, adds the approximate number of bytes that are still to be written.
    #[must_use]
    pub fn with_need(self, need: u64) -> Self {
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

    /// Returns the process exit code for this failure.
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::Setting { .. } | Self::Corpus { .. } | Self::Named { .. } => exit::USAGE,
            Self::Io { .. }
            | Self::NoSpace { .. }
            | Self::Model { .. }
            | Self::Embed { .. }
            | Self::Truncated { .. }
            | Self::Dataset { .. }
            | Self::Service { .. }
            | Self::Spent { .. } => exit::FAILED,
            Self::Locked { .. } | Self::Replaced { .. } => exit::LOCKED,
            Self::Interrupted => exit::INTERRUPTED,
        }
    }
}

/// Runs a parser of others on bytes that nobody vouches for. If it panics, returns the panic's message, and nothing is
/// printed. The caller must not use the parser's own values after that.
///
/// # Errors
/// The message of the panic.
pub fn caught<T>(work: impl FnOnce() -> T) -> Result<T, String> {
    thread_local! {
        static SILENT: Cell<bool> = const { Cell::new(false) };
    }
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let before = panic::take_hook();
        panic::set_hook(Box::new(move |panic| {
            if !SILENT.get() {
                before(panic);
            }
        }));
    });
    let outer = SILENT.replace(true);
    let done = panic::catch_unwind(AssertUnwindSafe(work));
    SILENT.set(outer);
    done.map_err(|panic| {
        let text = panic.downcast_ref::<&str>().copied().or_else(|| panic.downcast_ref().map(String::as_str));
        text.unwrap_or("it failed without a reason").to_owned()
    })
}

/// The result type of every fallible function in this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Programs that make Markdown of other formats, for advice.
pub const CONVERTERS: &str = "pandoc, MarkItDown or Docling";

/// The reason why one document was skipped. It is written to `quarantine.jsonl` with the document's path.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Skip {
    /// A file that could not be read.
    #[error("cannot be read: {0}")]
    Unreadable(#[source] io::Error),
    /// Bytes that are not text in a supported encoding.
    #[error(
        "is not valid {encoding} (first bad byte at offset {offset}); convert it, for example with `iconv -f latin1 -t utf-8`"
    )]
    Encoding {
        /// The encoding that the first bytes indicate.
        encoding: &'static str,
        /// Byte offset of the first invalid byte.
        offset: usize,
    },
    /// Text in an encoding that is not read, or is not read without a byte order mark.
    #[error("seems to be {encoding}, which is not read{}; save it as UTF-8", if encoding.starts_with("UTF-16") { " without a byte order mark" } else { "" })]
    Unmarked {
        /// The encoding that the bytes indicate.
        encoding: &'static str,
    },
    /// Text in an encoding that it declares and that is not read.
    #[error("declares the encoding {encoding:?}, which is not read; save it as UTF-8")]
    Declared {
        /// The encoding, as the file names it.
        encoding: String,
    },
    /// A file with so many NUL bytes that it is not text.
    #[error("is not text: it contains {}", value::count(*nuls, "NUL byte"))]
    Binary {
        /// Number of NUL bytes.
        nuls: usize,
    },
    /// A file that is not text, whatever the encoding.
    #[error("is not text: it {sign}")]
    NotText {
        /// What shows that, as a predicate: `is a PNG image`.
        sign: &'static str,
    },
    /// A file over the size limit.
    #[error("is {}, over the limit of {limit}", value::count(*bytes, "byte"))]
    TooLarge {
        /// Size of the file.
        bytes: u64,
        /// The limit in force.
        limit: u64,
    },
    /// A document that may need more memory than allowed.
    #[error("may need {memory} bytes of memory, over the limit of {limit}; raise --document-memory or --memory")]
    TooCostly {
        /// Bytes that it needs at least, or may need.
        memory: u64,
        /// The limit in force.
        limit: u64,
    },
    /// A document that cannot be read as the format of its name.
    #[error("cannot be read as {format}: {problem}")]
    Malformed {
        /// The format, with its article if it has one.
        format: &'static str,
        /// The problem.
        problem: String,
    },
    /// A file whose text is encrypted.
    #[error("is encrypted; remove its password first")]
    Encrypted,
    /// A file in which no text was found.
    #[error("has no text{}", if *pictures { ": its pages are pictures; recognise their text first, for example with `ocrmypdf`" } else { "" })]
    NoText {
        /// Whether it has pictures, which may show text.
        pictures: bool,
    },
    /// A document whose text would be much larger than its file.
    #[error("has more than {limit} bytes of text, many times its own size; raise --text-growth to read it")]
    Growth {
        /// The limit in force.
        limit: u64,
    },
    /// A document with a text that the embedding service refuses.
    #[error("was refused by the embedding service: {said}; --fresh asks again")]
    Refused {
        /// The service's own words.
        said: String,
    },
    /// A document whose reader would pass a limit on what it may use.
    #[error("cannot be read with {limit}")]
    Limit {
        /// The limit, with its unit.
        limit: String,
    },
    /// A symbolic link whose target is not in the corpus or does not exist.
    #[error("is a symbolic link; links are not followed, and its target is not in the corpus")]
    Symlink,
    /// A named pipe. Opening it would block until another process writes to it.
    #[error("is a FIFO, not a file; it is never opened")]
    Fifo,
    /// A named socket.
    #[error("is a socket, not a file; it is never opened")]
    Socket,
    /// A character or block device.
    #[error("is a device, not a file; it is never opened")]
    Device,
    /// A document with content that its security profile blocks.
    #[error(
        "contains `{signal}` on line {line}, which the security profile `{profile}` blocks; --allow-blocked indexes it"
    )]
    Blocked {
        /// Name of the signal.
        signal: &'static str,
        /// Name of the profile.
        profile: &'static str,
        /// Line of the signal, from 1.
        line: usize,
    },
    /// A document that is left out because another one has the same bytes or nearly the same words.
    #[error(
        "{} {of}{}",
        if jaccard.is_some() { "has nearly the words of" } else { "has the same bytes as" },
        jaccard.map(|jaccard| format!(": {:.1} % of their runs of words are the same", (1000.0 * jaccard).floor() / 10.0)).unwrap_or_default()
    )]
    Duplicate {
        /// Id of the other document.
        of: String,
        /// Share of the runs of words of both that both have; `None` if their bytes are the same.
        jaccard: Option<f64>,
    },
    /// A file in a format that is not text.
    #[error("is {format}; convert it to Markdown or text first, for example with {}", CONVERTERS)]
    Format {
        /// The format, with its article.
        format: &'static str,
    },
    /// A name that is not UTF-8, so no document id can be made from it.
    #[error("has a name that is not UTF-8")]
    Name,
}

impl Skip {
    /// Returns a short, stable word for machines.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Unreadable(_) => "unreadable",
            Self::Encoding { .. } | Self::Unmarked { .. } | Self::Declared { .. } => "encoding",
            Self::Binary { .. } | Self::NotText { .. } => "binary",
            Self::TooLarge { .. } => "too_large",
            Self::TooCostly { .. } => "too_costly",
            Self::Symlink => "symlink",
            Self::Fifo => "fifo",
            Self::Socket => "socket",
            Self::Device => "device",
            Self::Blocked { .. } => "blocked",
            Self::Format { .. } => "format",
            Self::Name => "name",
            Self::Malformed { .. } => "malformed",
            Self::Encrypted => "encrypted",
            Self::NoText { .. } => "no_text",
            Self::Growth { .. } => "growth",
            Self::Limit { .. } => "limit",
            Self::Refused { .. } => "refused",
            Self::Duplicate { .. } => "duplicate",
        }
    }
}
