//! Compares the number of instructions that parsing and each kernel of the CPU encoder take with a committed table.
//! Times are noisy on most machines, counts are not, and a kernel that lost its vector instructions shows at once.
//!
//! Each test runs in its own process, where no other test has left anything in a thread's tables. There, a forked
//! child does one piece of work with the processor's trap flag set, and counts the traps. Only the program's own
//! instructions count: what the C library does to copy, clear or allocate memory differs between processors and
//! versions. Counts belong to the optimized build and to the compiler that `Cargo.toml` names. A new compiler may
//! need a new table, which the failure prints.

use crate::common::note;

#[cfg(not(all(target_os = "linux", target_arch = "x86_64")))]
#[test]
fn kernels_take_the_instructions_they_took() {
    note("SKIPPED: instructions are counted only on Linux on x86-64");
}

#[cfg(not(all(target_os = "linux", target_arch = "x86_64")))]
#[test]
fn parsing_takes_the_instructions_it_took() {
    note("SKIPPED: instructions are counted only on Linux on x86-64");
}

#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod counting {
    use std::collections::BTreeMap;
    use std::fs;
    use std::io::Read;
    use std::os::fd::AsRawFd;
    use std::path::Path;
    use std::sync::atomic::{AtomicU64, Ordering};

    use chunkmill::chunk::{Spec, chunk_measured};
    use chunkmill::document::{Document, Layer, SourceMap};
    use chunkmill::embed::kernel::{Attention, Floats, Input, Isa, Kernel, Operand, Precision, Scratch, Then};
    use chunkmill::tokens::{TokenCounter, cl100k};

    use super::note;

    /// A kernel fails if its count differs from the table by more than this share. Inlining moves counts by up to 3 % with
    /// changes of the crate that have nothing to do with a kernel; one that lost its vector instructions takes several times as many.
    const SHARE: f64 = 0.05;

    /// The same for other work, where inlining moves counts by some percent with any change of the crate.
    const SHARE_OF_OTHERS: f64 = 0.1;

    /// A difference of this many instructions or fewer does not count, whatever its share: a check of a length.
    const FEW: u64 = 15;

    /// One register tile of rows, the narrowest layer, two tiles of queries: a step costs microseconds, and twenty
    /// of them in some virtual machines.
    const ROWS: usize = 6;
    const INPUTS: usize = 64;
    const OUTPUTS: usize = 64;
    const TOKENS: usize = 12;
    const HEAD: usize = 32;

    /// The instructions counted in the child, and the range of the program's own code. Only children of this module
    /// use them.
    static COUNT: AtomicU64 = AtomicU64::new(0);
    static CODE: [AtomicU64; 2] = [AtomicU64::new(0), AtomicU64::new(0)];

    /// Returns the address range of the running program's own code.
    fn code() -> [u64; 2] {
        let program = fs::read_link("/proc/self/exe").unwrap();
        let maps = fs::read_to_string("/proc/self/maps").unwrap();
        let mut own = maps.lines().filter(|line| line.contains("r-xp") && line.ends_with(program.to_str().unwrap()));
        let (start, end) = own.next().unwrap().split(' ').next().unwrap().split_once('-').unwrap();
        [start, end].map(|address| u64::from_str_radix(address, 16).unwrap())
    }

    /// Handles the trap after every instruction.
    #[expect(unsafe_code, reason = "a signal handler gets pointers")]
    extern "C" fn on_trap(_: libc::c_int, _: *mut libc::siginfo_t, context: *mut libc::c_void) {
        // SAFETY: the system passes the interrupted thread's state to a handler set with `SA_SIGINFO`.
        let at = unsafe { (*context.cast::<libc::ucontext_t>()).uc_mcontext.gregs[libc::REG_RIP as usize] };
        let [start, end] = [&CODE[0], &CODE[1]].map(|address| address.load(Ordering::Relaxed));
        if (start..end).contains(&at.cast_unsigned()) {
            COUNT.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Runs `work` with the processor's trap flag set. Only for a child process that has no other thread.
    #[expect(unsafe_code, reason = "the trap flag and its signal")]
    fn step_through(work: &mut dyn FnMut()) -> u64 {
        // SAFETY: the handler touches only atomics, and every trap comes from this thread, which is the only one.
        // The flag is set and cleared on the stack, where the compiler expects no value of its own.
        unsafe {
            let mut action: libc::sigaction = std::mem::zeroed();
            action.sa_sigaction = on_trap as *const () as usize;
            action.sa_flags = libc::SA_SIGINFO;
            libc::sigaction(libc::SIGTRAP, &raw const action, std::ptr::null_mut());
            std::arch::asm!("pushfq", "or qword ptr [rsp], 0x100", "popfq");
            work();
            std::arch::asm!("pushfq", "and qword ptr [rsp], -0x101", "popfq");
        }
        COUNT.load(Ordering::Relaxed)
    }

    /// Counts the program's own instructions in `work`. Returns `None` if the system does not step.
    ///
    /// The instructions are counted in a forked child, which has only this thread. It may allocate: the tests use
    /// the C library's allocator, whose locks that library's `fork` takes and releases. It must not wait for other
    /// locks, which another thread may hold, so `work` runs once beforehand to initialize what is initialized once.
    #[expect(unsafe_code, reason = "a forked child")]
    fn count(work: &mut dyn FnMut()) -> Option<u64> {
        work();
        for (to, address) in CODE.iter().zip(code()) {
            to.store(address, Ordering::Relaxed);
        }
        let (mut reader, writer) = std::io::pipe().unwrap();
        // SAFETY: the child waits for no lock of another thread, makes system calls, and never returns from here.
        let child = unsafe {
            let child = libc::fork();
            if child == 0 {
                let bytes = step_through(work).to_ne_bytes();
                libc::write(writer.as_raw_fd(), bytes.as_ptr().cast(), bytes.len());
                libc::_exit(0);
            }
            child
        };
        assert!(child > 0, "fork: {}", std::io::Error::last_os_error());
        drop(writer);
        let mut bytes = [0; 8];
        let read = reader.read_exact(&mut bytes);
        let mut status = 0;
        // SAFETY: a plain system call on a child of ours; `status` outlives it.
        unsafe { libc::waitpid(child, &raw mut status, 0) };
        assert!(read.is_ok() && status == 0, "the counted child ended with status {status:#x}");
        Some(u64::from_ne_bytes(bytes)).filter(|&count| count > 0)
    }

    /// Returns numbers between -1 and 1 that are the same on every run.
    fn numbers(len: usize) -> Vec<f32> {
        (0_u32..).take(len).map(|i| (i.wrapping_mul(2_654_435_761) >> 8) as f32 / 8_388_608.0 - 1.0).collect()
    }

    /// Counts every kernel of an instruction set. The keys are `isa precision kernel`.
    fn measure(isa: Isa) -> Option<BTreeMap<String, u64>> {
        let mut counts = BTreeMap::new();
        for precision in Precision::ON_CPU {
            let kernel = Kernel::new(isa, precision).unwrap();
            let mut add = |name: &str, work: &mut dyn FnMut()| {
                counts.insert(format!("{isa} {precision} {name}"), count(work)?);
                Some(())
            };
            let input = Input::observed(&vec![1.0; INPUTS], Then::Gelu.floor(), kernel.largest_block());
            let matrix = kernel.matrix(&numbers(OUTPUTS * INPUTS), &numbers(OUTPUTS), &input);
            let (mut rows, mut operand) = (numbers(ROWS * INPUTS), Operand::default());
            add("hold", &mut || kernel.hold(&mut rows, INPUTS, ROWS, &input, &mut operand))?;
            let mut out = vec![0.0; ROWS * OUTPUTS];
            add("multiply", &mut || kernel.multiply(&operand, &matrix, Then::Store, &mut out))?;
            add("multiply-gelu", &mut || kernel.multiply(&operand, &matrix, Then::Gelu, &mut out))?;
            if precision == Precision::F32 {
                let (weight, bias) = (Floats::new(INPUTS), Floats::new(INPUTS));
                add("layer-norm", &mut || kernel.layer_norm(&mut rows, INPUTS, &weight, &bias, 1e-12))?;
            }
            if precision != Precision::Int8 {
                let heads = numbers(3 * TOKENS * HEAD);
                let (mut out, mut scratch) = (vec![0.0; TOKENS * HEAD], Scratch::default());
                add("attend", &mut || {
                    let [queries, keys, values] = [0, 1, 2].map(|part| &heads[part * HEAD..]);
                    let job = Attention::new([queries, keys, values], 3 * HEAD, TOKENS, HEAD, 0.2);
                    kernel.attend(job, &mut out, HEAD, &mut scratch);
                })?;
            }
        }
        Some(counts)
    }

    /// Returns what is wrong with counts, compared with the lines of the table.
    fn complaints(table: &str, counts: &BTreeMap<String, u64>, most: f64) -> Vec<String> {
        let lines = table.lines().filter(|line| !line.starts_with('#')).filter_map(|line| line.rsplit_once(' '));
        let table: BTreeMap<&str, u64> = lines.map(|(name, count)| (name, count.parse().unwrap())).collect();
        let mut found = Vec::new();
        for (name, &count) in counts {
            let Some(&before) = table.get(name.as_str()) else {
                found.push(format!("new: {name} {count}"));
                continue;
            };
            let share = count as f64 / before as f64 - 1.0;
            if share.abs() > most && count.abs_diff(before) > FEW {
                let what = if share > 0.0 { "slower" } else { "faster, update the table" };
                found.push(format!("{what}: {name} {count} (was {before}, {:+.1} %)", share * 100.0));
            }
        }
        found
    }

    /// Set in the process that a test starts for itself.
    const ALONE: &str = "CHUNKMILL_TEST_ALONE";

    /// Returns whether this process has nothing but this test. If not, starts a process that has, in an environment
    /// without anyone's settings, which must pass.
    fn is_alone(test: &str) -> bool {
        if std::env::var_os(ALONE).is_some() {
            return true;
        }
        let mut child = std::process::Command::new(std::env::current_exe().unwrap());
        child.env_clear().env(ALONE, "1");
        child.envs(std::env::vars_os().filter(|(name, _)| name == "CHUNKMILL_REQUIRE_ALL"));
        let output =
            child.args([&format!("{}::{test}", module_path!().split_once("::").unwrap().1), "--exact"]).output();
        let output = output.unwrap();
        let [out, err] = [&output.stdout, &output.stderr].map(|bytes| String::from_utf8_lossy(bytes).into_owned());
        assert!(output.status.success() && out.contains("1 passed"), "{out}{err}");
        // That process reports on its standard error what it skips.
        err.lines().filter(|line| line.starts_with("SKIPPED")).for_each(note);
        false
    }

    /// Returns whether counts are kept for this kind of build. Incremental compilation inlines less.
    fn is_counted() -> bool {
        if cfg!(debug_assertions) || option_env!("CARGO_INCREMENTAL") == Some("1") {
            note("SKIPPED: instructions are counted only in optimized builds that are not incremental");
            return false;
        }
        true
    }

    /// Compares counts with the table. `None` means that the system does not step.
    fn check(counts: Option<BTreeMap<String, u64>>, most: f64) {
        let Some(counts) = counts else {
            let refused = "this system does not step through instructions";
            assert!(std::env::var_os("CHUNKMILL_REQUIRE_ALL").is_none(), "{refused}");
            return note(&format!("SKIPPED: {refused}"));
        };
        let table = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/instructions.txt");
        let found = complaints(&fs::read_to_string(table).unwrap_or_default(), &counts, most);
        let lines: Vec<String> = counts.iter().map(|(name, count)| format!("{name} {count}")).collect();
        assert!(
            found.is_empty(),
            "{}\n\ntests/golden/instructions.txt as counted here:\n{}",
            found.join("\n"),
            lines.join("\n")
        );
    }

    /// Counts pieces of work and compares them with the table, each by its name there. Work outside the kernels
    /// chooses its vector instructions itself, so it is only counted on processors that have the same ones.
    fn guard(works: &mut [(&str, &mut dyn FnMut())]) {
        if !is_counted() {
            return;
        }
        if !is_x86_feature_detected!("avx2") {
            return note("SKIPPED: these instructions are counted only on processors with AVX2");
        }
        check(works.iter_mut().map(|(name, work)| Some(((*name).to_owned(), count(work)?))).collect(), SHARE_OF_OTHERS);
    }

    #[test]
    fn kernels_take_the_instructions_they_took() {
        if !is_alone("kernels_take_the_instructions_they_took") || !is_counted() {
            return;
        }
        let sets = Isa::ALL.into_iter().filter(|isa| isa.is_available());
        let counts: Option<Vec<_>> = std::thread::scope(|scope| {
            let threads: Vec<_> = sets.map(|isa| scope.spawn(move || measure(isa))).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        check(counts.map(|counts| counts.into_iter().flatten().collect()), SHARE);
    }

    /// A page with some of everything that documentation contains.
    const PAGE: &str = "---\ntitle: Add an item\nms.date: 01/18/2026\ntags:\n  - shop\n---\n# Add an item\n\n\
        To add an item, call [`add`](../reference/add.md#options) with its *name* and **count**. See the\n\
        [guide][1], the #howto pages, or ask <help@example.org>.\n\n\
        ## Before you begin\n\n\
        - Install the client, version 2.1 or later.\n- Sign in:\n\n  ```sh\n  shop login --user me\n  # then\n  shop add tea 3\n  ```\n\n\
        1. One item at a time is added.\n2. The order of items does not matter, as they are sorted by name.\n\n\
        > **Note** You have no cart yet? One is made for you.[^1]\n\n\
        ## Options\n\n| Option | Meaning |\n| --- | --- |\n| `count` | How many, 1 if not given |\n| `note` | A remark – in any language, 日本語 too |\n\n\
        <a id=\"more\"></a>\n\n![A cart](img/cart.png \"Cart\") and the sum $a + b$:\n\n$$\nc = a + b\n$$\n\n\
        ### Options\n\nA line that is long enough to be broken by most editors, because it goes on and on about very\n\
        little; and a second one.  \nIt ends here.\n\n[^1]: Unless there is one.\n\n[1]: https://example.org/guide\n";

    #[test]
    fn parsing_takes_the_instructions_it_took() {
        if !is_alone("parsing_takes_the_instructions_it_took") {
            return;
        }
        let page = |path: &str, text: &str| {
            let Document { origin, text, .. } = Document::from_text(path, text);
            move || {
                let layer = Layer {
                    text: text.clone(),
                    map: SourceMap::default(),
                    hash: String::new(),
                    bytes: text.len() as u64,
                    metadata: serde_json::Map::new(),
                    structure: None,
                };
                drop(std::hint::black_box(Document::parse(origin.clone(), layer)));
            }
        };
        guard(&mut [("parse markdown", &mut page("guide.md", PAGE)), ("parse text", &mut page("guide.txt", PAGE))]);
    }

    #[test]
    fn counting_and_chunking_take_the_instructions_they_took() {
        if !is_alone("counting_and_chunking_take_the_instructions_they_took") {
            return;
        }
        let document = Document::from_text("guide.md", PAGE);
        let cut = |spec: &str| {
            let (spec, document): (Spec, _) = (spec.parse().unwrap(), &document);
            move || {
                let ruler = spec.sizer(None).unwrap().measure(document).unwrap();
                for piece in std::hint::black_box(chunk_measured(&ruler, &spec).unwrap()) {
                    std::hint::black_box(
                        ruler
                            .tokens_between(&piece.prefix(document), piece.range.clone(), piece.suffix(document))
                            .unwrap(),
                    );
                }
            }
        };
        guard(&mut [
            ("count tokens", &mut || drop(std::hint::black_box(cl100k().count(PAGE)))),
            ("chunk structure", &mut cut("structure max=128")),
            ("chunk structure in characters", &mut cut("structure unit=chars min=100 max=400")),
            ("chunk header", &mut cut("header unit=tokens min=20 max=128 overlap=0 parent_headers=false")),
            ("chunk heading", &mut cut("heading unit=tokens max=64 overlap=8")),
        ]);
    }

    #[test]
    fn a_count_is_exact_and_more_less_and_unknown_are_told_apart() {
        if !is_alone("a_count_is_exact_and_more_less_and_unknown_are_told_apart") {
            return;
        }
        let mut sink = 0_u64;
        let mut spin = |turns: u64| count(&mut || (0..turns).for_each(|i| sink = std::hint::black_box(sink ^ i)));
        if let (Some(none), Some(one), Some(hundred)) = (spin(0), spin(1), spin(101)) {
            assert!(none < one && hundred > none + 200, "{none}, {one}, {hundred}");
            assert_eq!(Some(hundred), spin(101), "the same every time");
        }
        let counts = |count| BTreeMap::from([("avx2 f32 hold".to_owned(), count)]);
        let table = "# a comment\navx2 f32 hold 1000\navx512 f32 hold 1\n";
        assert_eq!(complaints(table, &counts(1049), SHARE), [""; 0]);
        assert_eq!(complaints(table, &counts(951), SHARE), [""; 0]);
        assert_eq!(complaints(table, &counts(1051), SHARE), ["slower: avx2 f32 hold 1051 (was 1000, +5.1 %)"]);
        assert_eq!(
            complaints(table, &counts(949), SHARE),
            ["faster, update the table: avx2 f32 hold 949 (was 1000, -5.1 %)"]
        );
        assert_eq!(complaints("avx2 f32 hold 100", &counts(115), SHARE), [""; 0]);
        assert_eq!(complaints("", &counts(7), SHARE), ["new: avx2 f32 hold 7"]);
    }
}
