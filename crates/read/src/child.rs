//! Reads a file in a process of its own.
//!
//! Some readers build on a library of others that opens the whole file at once. A hostile file may take more memory or time
//! than there is, or overflow a stack, and each of these ends the process it happens in. So a program that calls [`isolate`]
//! reads these files in a child of its own: with limits, without the environment, and on Linux without the right to open a
//! file, to connect or to start a program (`seccompiler`, Firecracker's, which needs only libc; `landlock` protects only
//! files on older kernels). A child that ends early costs its document. Without [`isolate`], they are read in the process.

use std::ffi::OsString;
use std::io::{self, BufRead as _, BufReader, BufWriter, Read, Write};
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::OnceLock;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use chunkmill_base::error::Skip;
use chunkmill_text::document::{Layer, ReadSettings};
use serde::{Deserialize, Serialize};

/// Bytes of memory of a child, in addition to [`MEMORY_PER_BYTE`].
const MEMORY: u64 = 2 << 30;

/// Bytes of memory for each byte of a file.
const MEMORY_PER_BYTE: u64 = 8;

/// Seconds of processor time of a child, in addition to [`SECONDS_PER_MEGABYTE`].
const SECONDS: u64 = 60;

/// Seconds of processor time for each megabyte of a file.
const SECONDS_PER_MEGABYTE: u64 = 20;

/// How many times as long as its processor time a child may take. This ends a child that waits forever.
const PATIENCE: u64 = 20;

/// How a child is started.
static STARTER: OnceLock<Starter> = OnceLock::new();

struct Starter {
    program: PathBuf,
    args: Vec<OsString>,
}

/// The work of a child. It is the first line of its input; the file follows.
#[derive(Serialize, Deserialize)]
struct Order {
    version: String,
    format: String,
    bytes: u64,
    settings: ReadSettings,
}

/// Why a child has no layer.
#[derive(Serialize, Deserialize)]
enum Refused {
    Malformed { problem: String },
    Encrypted,
    NoText { pictures: bool },
    Growth { limit: u64 },
}

/// The limits of a child.
#[derive(Clone, Copy)]
struct Limits {
    memory: u64,
    seconds: u64,
}

/// Reads hostile formats in child processes from now on. A child is started with this program and these arguments; it must
/// call [`serve`](crate::serve). Later calls change nothing.
pub fn isolate(program: impl Into<PathBuf>, args: impl IntoIterator<Item = impl Into<OsString>>) {
    let args = args.into_iter().map(Into::into).collect();
    STARTER.get_or_init(|| Starter { program: program.into(), args });
}

/// Does the work of a child: takes its order, confines itself, reads the file with a function, and answers. The function gets
/// the name of the format, the file and the settings.
///
/// # Errors
/// If the input is not what a parent of this version writes, or the output cannot be written.
pub(crate) fn serve(
    input: impl Read,
    output: impl Write,
    read: impl FnOnce(&str, &[u8], &ReadSettings) -> Result<Layer, Skip>,
) -> io::Result<()> {
    let mut input = BufReader::new(input);
    let mut line = String::new();
    input.read_line(&mut line)?;
    let order: Order = serde_json::from_str(&line)?;
    if order.version != env!("CARGO_PKG_VERSION") {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "the parent is another version"));
    }
    confine(Limits::of(order.bytes));
    let mut bytes = Vec::new();
    input.read_to_end(&mut bytes)?;
    #[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
    filter::apply();
    let mut output = BufWriter::new(output);
    serde_json::to_writer(&mut output, &read(&order.format, &bytes, &order.settings).map_err(Refused::from))?;
    output.flush()
}

/// Reads a file in a child; `None` if nobody said how to start one. `name` is the format in words.
pub(crate) fn read(
    format: &str,
    name: &'static str,
    bytes: &[u8],
    settings: &ReadSettings,
) -> Option<Result<Layer, Skip>> {
    let starter = STARTER.get()?;
    Some(starter.run(format, bytes, settings).map_err(Skip::Unreadable).and_then(|outcome| outcome.layer(name)))
}

/// The end of a child.
struct Outcome {
    limits: Limits,
    status: ExitStatus,
    is_late: bool,
    answer: Vec<u8>,
    /// The start of its standard error.
    message: String,
}

impl Starter {
    /// Runs a child to its end.
    fn run(&self, format: &str, bytes: &[u8], settings: &ReadSettings) -> io::Result<Outcome> {
        let size = bytes.len() as u64;
        let limits = Limits::of(size);
        let order = Order {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            format: format.to_owned(),
            bytes: size,
            settings: *settings,
        };
        let mut order = serde_json::to_vec(&order)?;
        order.push(b'\n');
        let mut child = self.start()?;
        let (stdin, stdout, stderr) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let (answer, is_late) = thread::scope(|scope| {
            scope.spawn(move || {
                // A child that has ended does not listen; its status says why.
                stdin.is_some_and(|mut pipe| pipe.write_all(&order).and_then(|()| pipe.write_all(bytes)).is_ok())
            });
            let (sender, receiver) = mpsc::channel();
            let reader = scope.spawn(move || {
                let mut answer = Vec::new();
                let read = stdout.map_or(Ok(0), |mut pipe| pipe.read_to_end(&mut answer));
                // The other end waits for this, or has killed the child.
                let _ = sender.send(());
                read.map(|_| answer)
            });
            let is_late = receiver.recv_timeout(Duration::from_secs(limits.seconds * PATIENCE)).is_err();
            if is_late {
                child.kill()?;
            }
            let answer = reader.join().unwrap_or_else(|_| Err(io::Error::other("its text cannot be received")))?;
            Ok::<_, io::Error>((answer, is_late))
        })?;
        let mut message = String::new();
        if let Some(pipe) = stderr {
            // Without this text, the status alone says why.
            let _ = pipe.take(1 << 16).read_to_string(&mut message);
        }
        Ok(Outcome { limits, status: child.wait()?, is_late, answer, message })
    }

    fn start(&self) -> io::Result<Child> {
        let mut command = Command::new(&self.program);
        command.args(&self.args).env_clear();
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        #[cfg(windows)]
        command.envs(std::env::vars_os().filter(|(name, _)| name.eq_ignore_ascii_case("SystemRoot")));
        // An interruption ends the parent, which decides what becomes of the document.
        #[cfg(unix)]
        std::os::unix::process::CommandExt::process_group(&mut command, 0);
        command.spawn()
    }
}

impl Limits {
    fn of(bytes: u64) -> Self {
        Self {
            memory: MEMORY + bytes * MEMORY_PER_BYTE,
            seconds: SECONDS + bytes.div_ceil(1_000_000) * SECONDS_PER_MEGABYTE,
        }
    }
}

impl Outcome {
    /// Returns the layer, or why there is none. `name` is the format in words.
    fn layer(self, name: &'static str) -> Result<Layer, Skip> {
        if self.status.success() {
            let read: Result<Layer, Refused> =
                serde_json::from_slice(&self.answer).map_err(|error| Skip::Unreadable(error.into()))?;
            return read.map_err(|refused| refused.into_skip(name));
        }
        Err(self.passed().map_or_else(
            || Skip::Malformed {
                format: name,
                problem: format!("the process that read it ended with {}", self.status),
            },
            |limit| Skip::Limit { limit },
        ))
    }

    /// Returns the limit that a child passed that ended early.
    fn passed(&self) -> Option<String> {
        #[cfg(unix)]
        let is_over_time = std::os::unix::process::ExitStatusExt::signal(&self.status)
            .is_some_and(|signal| signal == rustix::process::Signal::XCPU.as_raw());
        #[cfg(not(unix))]
        let is_over_time = false;
        if self.message.contains("memory allocation") {
            return Some(format!("{} MB of memory", self.limits.memory >> 20));
        }
        (is_over_time || self.is_late).then(|| format!("{} s of processor time", self.limits.seconds))
    }
}

/// Limits this process. A limit that the system does not have is not set.
fn confine(limits: Limits) {
    #[cfg(unix)]
    {
        use rustix::process::{Resource, Rlimit, setrlimit};
        let at_most = |current, maximum| Rlimit { current: Some(current), maximum: Some(maximum) };
        for (resource, limit) in [
            (Resource::As, at_most(limits.memory, limits.memory)),
            // A second later, a child that ignores the signal is killed.
            (Resource::Cpu, at_most(limits.seconds, limits.seconds + 1)),
            (Resource::Core, at_most(0, 0)),
            (Resource::Fsize, at_most(0, 0)),
        ] {
            let _ = setrlimit(resource, limit);
        }
    }
    #[cfg(not(unix))]
    let _ = limits;
}

impl From<Skip> for Refused {
    fn from(skip: Skip) -> Self {
        match skip {
            Skip::Malformed { problem, .. } => Self::Malformed { problem },
            Skip::Encrypted => Self::Encrypted,
            Skip::NoText { pictures } => Self::NoText { pictures },
            Skip::Growth { limit } => Self::Growth { limit },
            other => Self::Malformed { problem: other.to_string() },
        }
    }
}

impl Refused {
    fn into_skip(self, format: &'static str) -> Skip {
        match self {
            Self::Malformed { problem } => Skip::Malformed { format, problem },
            Self::Encrypted => Skip::Encrypted,
            Self::NoText { pictures } => Skip::NoText { pictures },
            Self::Growth { limit } => Skip::Growth { limit },
        }
    }
}

/// The calls to the system that a child has. All others are not implemented, as it seems to it: the C library then does
/// without them.
#[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
mod filter {
    use std::collections::BTreeMap;

    use seccompiler::{
        BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule,
        TargetArch, apply_filter,
    };

    const ALLOWED: [i64; 33] = [
        // The pipes that are open.
        libc::SYS_read,
        libc::SYS_readv,
        libc::SYS_write,
        libc::SYS_writev,
        libc::SYS_close,
        libc::SYS_fstat,
        libc::SYS_lseek,
        // Memory.
        libc::SYS_brk,
        libc::SYS_mmap,
        libc::SYS_munmap,
        libc::SYS_mremap,
        libc::SYS_mprotect,
        libc::SYS_madvise,
        // Threads of this process.
        libc::SYS_futex,
        libc::SYS_set_robust_list,
        libc::SYS_rseq,
        libc::SYS_gettid,
        libc::SYS_getpid,
        libc::SYS_sched_yield,
        libc::SYS_sched_getaffinity,
        libc::SYS_getcpu,
        libc::SYS_rt_sigaction,
        libc::SYS_rt_sigprocmask,
        libc::SYS_rt_sigreturn,
        libc::SYS_sigaltstack,
        libc::SYS_tgkill,
        libc::SYS_restart_syscall,
        libc::SYS_exit,
        libc::SYS_exit_group,
        // Clocks and random numbers.
        libc::SYS_clock_gettime,
        libc::SYS_clock_nanosleep,
        libc::SYS_nanosleep,
        libc::SYS_getrandom,
    ];

    /// Takes all other calls from this thread and those that it starts. A system without filters has none.
    pub(super) fn apply() {
        if let Ok(program) = program() {
            let _ = apply_filter(&program);
        }
    }

    fn program() -> Result<BpfProgram, seccompiler::BackendError> {
        let mut rules: BTreeMap<i64, Vec<SeccompRule>> = ALLOWED.map(|call| (call, Vec::new())).into();
        // `clone` for a thread, not for a process.
        let thread = u64::try_from(libc::CLONE_THREAD).unwrap_or_default();
        let is_thread = SeccompCondition::new(0, SeccompCmpArgLen::Qword, SeccompCmpOp::MaskedEq(thread), thread)?;
        rules.insert(libc::SYS_clone, vec![SeccompRule::new(vec![is_thread])?]);
        let architecture = if cfg!(target_arch = "x86_64") { TargetArch::x86_64 } else { TargetArch::aarch64 };
        let missing = SeccompAction::Errno(u32::try_from(libc::ENOSYS).unwrap_or_default());
        SeccompFilter::new(rules, missing, SeccompAction::Allow, architecture)?.try_into()
    }

    #[cfg(test)]
    #[allow(clippy::pedantic, clippy::unwrap_used, reason = "tests fail by panicking")]
    mod tests {
        use std::fs::File;
        use std::net::TcpListener;
        use std::process::Command;
        use std::thread;

        /// Only this thread and its own are filtered, so the other tests are not.
        #[test]
        fn a_child_computes_but_reaches_nothing() {
            let done = thread::spawn(|| {
                super::apply();
                let opened = File::open("/dev/null").is_ok();
                let connected = TcpListener::bind("127.0.0.1:0").is_ok();
                let started = Command::new("/bin/true").status().is_ok();
                let sum = thread::spawn(|| vec![1_u64; 1 << 22].iter().sum::<u64>()).join().unwrap();
                (opened, connected, started, sum)
            });
            assert_eq!(done.join().unwrap(), (false, false, false, 1 << 22));
        }
    }
}
