//! The cache of vectors: it saves work, keeps its limit, survives damage, kills and concurrent use, and never
//! changes a byte of a dataset.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use blake3::Hash;
use chunkmill::embed::batch::EmbeddingResult;
use chunkmill::embed::cache::{MIN_LIMIT, Space};
use chunkmill::embed::model_ref::ModelRef;
use chunkmill::embed::{
    Batcher, Batching, Cache, Embedder, EncodedText, Engine, ModelInfo, ModelInput, Parallel, Role, load,
};
use serde_json::Value;
use tempfile::TempDir;

use crate::common::{default_model, finish, program, program_with_models, run, tiny_model, tree, write};

const DATABASE: &str = "embeddings-v1.sqlite";

/// Creates a home with some documents in `docs`. Each has a section of its own, and all of them share one text.
fn home(documents: usize) -> TempDir {
    let home = TempDir::new().unwrap();
    for i in 0..documents {
        let text = format!("# The cat {i}\n\n{}\n\n# Shared\n\nThe mat.\n", format!("dog {i} ran ").repeat(1 + i % 7));
        write(home.path(), &format!("docs/{i:04}.md"), text.as_bytes());
    }
    home
}

/// Indexes `docs` into `out` and returns the JSON summary and standard error.
fn index(home: &Path, out: &str, args: &[&str]) -> (Value, String) {
    let (code, stdout, err) = run(home, &[&["index", "docs", "-o", out, "--json"], args].concat());
    assert_eq!(code, 0, "{err}");
    (serde_json::from_str(&stdout).unwrap(), err)
}

/// Returns how many texts were embedded and how many came from the cache.
fn texts(summary: &Value) -> (u64, u64) {
    (summary["texts_embedded"].as_u64().unwrap(), summary["texts_cached"].as_u64().unwrap())
}

const FAKE: &[&str] = &["--embedder", "fake", "--preset", "heading-tokens"];

fn cached<'a>(args: &[&'a str]) -> Vec<&'a str> {
    [args, &["--embedding-cache", "cache"]].concat()
}

fn fake() -> Box<dyn Embedder> {
    load(Engine::Fake, &ModelRef::default()).unwrap()
}

fn embed(embedder: &dyn Embedder, cache: Option<&Cache>, texts: &[String]) -> EmbeddingResult {
    let stop = AtomicBool::new(false);
    Batcher::new(embedder, None).with_cache(cache).embed(texts, Role::Document, &stop, &|_, _| ()).unwrap()
}

fn words(n: usize) -> Vec<String> {
    (0..n).map(|i| format!("text {i} of many")).collect()
}

/// Returns the number of bytes of all files in a folder.
fn size(folder: &Path) -> u64 {
    let entries = fs::read_dir(folder).unwrap().filter_map(Result::ok);
    entries.filter_map(|entry| entry.metadata().ok()).map(|file| file.len()).sum()
}

/// Sets the last use of everything in a cache back by one day, if there is a cache.
fn a_day_passes(folder: &Path) {
    if folder.join(DATABASE).exists() {
        let database = rusqlite::Connection::open(folder.join(DATABASE)).unwrap();
        database.execute("UPDATE texts SET used = used - 86400000", []).unwrap();
    }
}

/// Returns the largest number of bytes that a folder contained during some work.
fn most_while(folder: &Path, work: impl FnOnce()) -> u64 {
    /// Ends the watching even if an assertion fails.
    struct AtEnd<'a>(&'a AtomicBool);
    impl Drop for AtEnd<'_> {
        fn drop(&mut self) {
            self.0.store(false, Ordering::Relaxed);
        }
    }
    let working = AtomicBool::new(true);
    thread::scope(|scope| {
        let at_end = AtEnd(&working);
        let watcher = scope.spawn(|| {
            let mut most = 0;
            while working.load(Ordering::Relaxed) {
                most = most.max(size(folder));
                thread::sleep(Duration::from_millis(1));
            }
            most
        });
        work();
        drop(at_end);
        watcher.join().unwrap()
    })
}

#[test]
fn a_second_run_embeds_nothing_and_writes_the_same_bytes() {
    let home = home(40);
    let (off, _) = index(home.path(), "off", FAKE);
    assert_eq!(texts(&off), (41, 0), "40 sections and the shared one");
    let (cold, err) = index(home.path(), "cold", &cached(FAKE));
    assert_eq!((texts(&cold), err.as_str()), ((41, 0), ""));
    let (warm, err) = index(home.path(), "warm", &cached(FAKE));
    assert_eq!((texts(&warm), err.as_str()), ((0, 41), ""));
    assert_eq!(warm["tokens_read"], 0);
    let [off, cold, warm] = ["off", "cold", "warm"].map(|out| tree(&home.path().join(out)));
    assert!(off == cold && off == warm);
    let (code, out, _) = run(home.path(), &cached(&[&["index", "docs", "-o", "warm", "--fresh"], FAKE].concat()));
    assert_eq!(code, 0);
    assert!(out.contains("cached     41 texts"), "{out}");
}

#[test]
fn other_chunk_settings_embed_only_the_new_texts() {
    let home = home(20);
    index(home.path(), "one", &cached(FAKE));
    let other = ["--embedder", "fake", "--strategy", "heading", "--unit", "tokens", "--max", "24", "--overlap", "2"];
    let (off, _) = index(home.path(), "off", &other);
    let (on, _) = index(home.path(), "on", &cached(&other));
    let ((all, _), (new, old)) = (texts(&off), texts(&on));
    assert!(new > 0 && old > 10 && new + old == all, "{new} new, {old} old, {all} in all");
    assert!(tree(&home.path().join("off")) == tree(&home.path().join("on")));
}

#[test]
fn a_vector_of_another_model_engine_precision_or_instruction_set_is_never_used() {
    let home = home(3);
    tiny_model(&home.path().join("tiny"));
    tiny_model(&home.path().join("cased"));
    write(home.path(), "cased/sentence_bert_config.json", br#"{"max_seq_length": 9, "do_lower_case": false}"#);
    for (run, args) in [
        &["--embedder", "fake"][..],
        &["--model", "tiny", "--embedder", "candle"],
        &["--model", "tiny", "--precision", "f32"],
        &["--model", "tiny", "--precision", "f32", "--cpu-isa", "portable"],
        &["--model", "tiny", "--precision", "bf16"],
        &["--model", "tiny", "--precision", "int8"],
        &["--model", "cased", "--precision", "f32"],
    ]
    .into_iter()
    .enumerate()
    {
        let (first, err) = index(home.path(), &format!("{run}-cold"), &cached(args));
        assert!(texts(&first).0 > 0 && texts(&first).1 == 0, "{args:?}: {first} {err}");
        let (again, _) = index(home.path(), &format!("{run}-warm"), &cached(args));
        assert_eq!(texts(&again), (0, texts(&first).0), "{args:?}");
        index(home.path(), &format!("{run}-off"), args);
        let [cold, warm, off] = ["cold", "warm", "off"].map(|out| tree(&home.path().join(format!("{run}-{out}"))));
        assert!(cold == off && warm == off, "{args:?}");
    }
}

#[test]
fn what_was_put_in_is_found_bit_by_bit_and_only_that() {
    let folder = TempDir::new().unwrap();
    let (one, fake) = (blake3::hash(b"one"), fake());
    let space = Space::of(fake.as_ref());
    let vector: Vec<f32> = (0..64).map(|i| f32::from_bits(0x3f80_0000 ^ (i * 77_777))).collect();
    let cache = Cache::open(&folder.path().join("new/folder"), MIN_LIMIT).unwrap();
    cache.put(&space, [(one, &vector[..])].into_iter());
    let mut not_finite = vector.clone();
    not_finite[3] = f32::NAN;
    cache.put(&space, [(blake3::hash(b"two"), &not_finite[..]), (blake3::hash(b"three"), &vector[1..])].into_iter());
    let bits = |vector: &[f32]| vector.iter().map(|value| value.to_bits()).collect::<Vec<_>>();
    let get = |cache: &Cache| cache.get(&space, &[b"two", b"one", b"six"].map(|text| blake3::hash(text)));
    let found = get(&cache);
    assert_eq!(
        (found[0].as_deref(), found[1].as_deref().map(bits), found[2].as_deref()),
        (None, Some(bits(&vector)), None)
    );
    drop(cache);
    assert_eq!(get(&Cache::open(&folder.path().join("new/folder"), MIN_LIMIT).unwrap()), found);
}

/// Creates a closed cache with the vectors of some texts.
fn filled(texts: &[String]) -> TempDir {
    let folder = TempDir::new().unwrap();
    let cache = Cache::open(folder.path(), u64::MAX >> 8).unwrap();
    assert_eq!(embed(fake().as_ref(), Some(&cache), texts).computed, texts.len());
    folder
}

#[test]
fn a_flipped_bit_in_a_vector_costs_that_vector_alone() {
    let (texts, fake) = (words(300), fake());
    let right = embed(fake.as_ref(), None, &texts);
    let folder = filled(&texts);
    let path = folder.path().join(DATABASE);
    let mut bytes = fs::read(&path).unwrap();
    let vector: Vec<u8> = right.vectors[64 * 7..][..64].iter().flat_map(|value| value.to_le_bytes()).collect();
    let at = bytes.windows(vector.len()).position(|window| window == vector).unwrap();
    bytes[at + 100] ^= 1;
    fs::write(&path, bytes).unwrap();
    for (computed, cached) in [(1, 299), (0, 300)] {
        let cache = Cache::open(folder.path(), 1 << 30).unwrap();
        let embedded = embed(fake.as_ref(), Some(&cache), &texts);
        assert_eq!((embedded.computed, embedded.cached), (computed, cached), "noticed, removed, written again");
        assert!(embedded.vectors == right.vectors);
    }
    assert!(!folder.path().join(format!("{DATABASE}.damaged")).exists());
}

#[test]
fn damage_anywhere_never_reaches_a_vector() {
    let (texts, fake) = (words(300), fake());
    let right = embed(fake.as_ref(), None, &texts);
    let sound = fs::read(filled(&texts).path().join(DATABASE)).unwrap();
    let mut noticed = 0;
    // Every kind of page is hit, and each page in many places: beginning, pointers, keys, vectors.
    for trial in 0..60usize {
        let folder = TempDir::new().unwrap();
        let mut bytes = sound.clone();
        match trial {
            0 => bytes.truncate(bytes.len() / 2),
            1 => bytes.truncate(16),
            2 => bytes = b"not a database, but long enough to be taken for one if nobody looks".repeat(1000),
            3 => bytes[..16].fill(0),
            4 => bytes.clear(),
            _ => {
                let pages = bytes.len() / 16384;
                for page in 0..pages {
                    let mut random = blake3::Hasher::new().update(&[trial as u8, page as u8]).finalize_xof();
                    let mut numbers = [0; 4];
                    random.fill(&mut numbers);
                    let within = if trial % 2 == 0 { 200 } else { 16384 };
                    let at = u16::from_le_bytes([numbers[0], numbers[1]]) as usize % within;
                    bytes[page * 16384 + at] ^= 1 << (numbers[2] % 8);
                }
            }
        }
        fs::write(folder.path().join(DATABASE), bytes).unwrap();
        for run in 0..3 {
            let cache = Cache::open(folder.path(), 1 << 30).ok();
            let embedded = embed(fake.as_ref(), cache.as_ref(), &texts);
            assert!(embedded.vectors == right.vectors, "trial {trial}, run {run}");
            noticed += usize::from(embedded.computed > 0);
            assert!(run < 2 || embedded.cached == 300, "trial {trial}: in the end there is a sound cache again");
        }
    }
    assert!(noticed >= 50, "{noticed}");
}

#[test]
fn a_damaged_database_is_moved_aside_with_one_warning() {
    let home = home(5);
    index(home.path(), "one", &cached(FAKE));
    write(home.path(), &format!("cache/{DATABASE}"), &[7; 50_000]);
    let (summary, err) = index(home.path(), "two", &cached(FAKE));
    assert_eq!(texts(&summary), (6, 0));
    assert!(err.contains("is damaged; it was moved to") && err.matches("WARN").count() == 1, "{err}");
    assert_eq!(fs::read(home.path().join(format!("cache/{DATABASE}.damaged"))).unwrap(), [7; 50_000]);
    let (summary, err) = index(home.path(), "three", &cached(FAKE));
    assert_eq!((texts(&summary), err.as_str()), ((0, 6), ""));
    assert!(tree(&home.path().join("one")) == tree(&home.path().join("two")));
}

#[test]
fn a_damaged_database_that_somebody_uses_stays_where_it_is() {
    let texts = words(50);
    let folder = filled(&texts);
    let elsewhere = Cache::open(folder.path(), 1 << 30).unwrap();
    let path = folder.path().join(DATABASE);
    let mut bytes = fs::read(&path).unwrap();
    bytes[..100].fill(1);
    fs::write(&path, bytes).unwrap();
    let error = Cache::open(folder.path(), 1 << 30).err().unwrap().to_string();
    assert!(error.starts_with("cannot move aside the damaged"), "{error}");
    drop(elsewhere);
    assert!(Cache::open(folder.path(), 1 << 30).is_ok());
}

#[test]
fn a_lower_limit_makes_the_file_smaller_and_the_oldest_goes_first() {
    let (fake, folder) = (fake(), TempDir::new().unwrap());
    let space = Space::of(fake.as_ref());
    let texts = words(22_000);
    let key = |text: &String| blake3::hash(text.as_bytes());
    let vector = [0.125; 64];
    let put = |cache: &Cache, texts: &[String]| cache.put(&space, texts.iter().map(|text| (key(text), &vector[..])));
    let there = |cache: &Cache, texts: &[String]| {
        let keys: Vec<Hash> = texts.iter().map(key).collect();
        cache.get(&space, &keys).iter().flatten().count()
    };
    let open = |limit| {
        a_day_passes(folder.path());
        Cache::open(folder.path(), limit).unwrap()
    };
    put(&open(16 << 20), &texts[..2000]);
    {
        // The first thousand texts are used, the second thousand are not.
        let cache = open(16 << 20);
        assert_eq!(there(&cache, &texts[..1000]), 1000);
    }
    put(&open(16 << 20), &texts[2000..20_000]);
    let before = size(folder.path());
    assert!(before > 6 << 20, "{before}");

    let limit = MIN_LIMIT;
    let most = most_while(folder.path(), || {
        let cache = open(limit);
        put(&cache, &texts[20_000..20_001]);
        assert_eq!(there(&cache, &texts[20_000..20_001]), 1);
        assert_eq!(there(&cache, &texts[1000..2000]), 0, "what was not used for the longest time is gone");
        assert_eq!(there(&cache, &texts[19_000..20_000]), 1000, "the newest is there");
    });
    let after = size(folder.path());
    assert!(after <= limit && after > limit / 2, "{after} bytes with a limit of {limit}");
    assert!(most < before + limit / 4, "{most} bytes while {before} became fewer");
}

#[test]
fn the_limit_holds_while_a_cache_is_filled() {
    let (fake, folder) = (fake(), TempDir::new().unwrap());
    let space = Space::of(fake.as_ref());
    let keys: Vec<Hash> = words(30_000).iter().map(|text| blake3::hash(text.as_bytes())).collect();
    let vector = [0.125; 64];
    let most = most_while(folder.path(), || {
        let cache = Cache::open(folder.path(), MIN_LIMIT).unwrap();
        for keys in keys.chunks(200) {
            cache.put(&space, keys.iter().map(|&key| (key, &vector[..])));
            assert!(cache.get(&space, keys).iter().all(Option::is_some), "what was just put in is not what goes");
        }
    });
    assert!(most <= MIN_LIMIT, "{most} bytes");
    let after = size(folder.path());
    assert!(after > MIN_LIMIT / 2, "{after} bytes are left");
}

#[test]
fn what_a_run_uses_outlives_what_it_does_not() {
    let (fake, folder) = (fake(), TempDir::new().unwrap());
    let texts = words(20_000);
    let open = |limit| {
        a_day_passes(folder.path());
        Cache::open(folder.path(), limit).unwrap()
    };
    embed(fake.as_ref(), Some(&open(16 << 20)), &texts[..16_000]);
    // The first thousand texts, the oldest ones, are used again.
    assert_eq!(embed(fake.as_ref(), Some(&open(16 << 20)), &texts[..1000]).cached, 1000);
    embed(fake.as_ref(), Some(&open(MIN_LIMIT)), &texts[19_900..]);
    let cache = open(16 << 20);
    assert_eq!(embed(fake.as_ref(), Some(&cache), &texts[..1000]).cached, 1000);
    let unused = embed(fake.as_ref(), Some(&cache), &texts[1000..16_000]).cached;
    assert!(unused < 12_000, "{unused} of 15000 are still there");
}

#[test]
fn off_writes_nothing_and_auto_is_the_users_cache_folder() {
    let home = home(3);
    let index = |setting: &str, variables: &[(&str, &str)]| {
        let mut command = program(home.path());
        command
            .env_remove("XDG_CACHE_HOME")
            .env("HOME", home.path().join("me"))
            .env("CHUNKMILL_EMBEDDING_CACHE", setting);
        command.args(["index", "docs", "-o", "out"]).args(FAKE).envs(variables.iter().copied());
        let (code, _, err) = finish(command.output().unwrap());
        assert_eq!((code, err.as_str()), (0, ""));
    };
    let xdg = home.path().join("xdg");
    let there = |path: &str| home.path().join(path).exists();
    index("off", &[("XDG_CACHE_HOME", xdg.to_str().unwrap())]);
    assert!(!there("xdg") && !there("me"));
    index("auto", &[("XDG_CACHE_HOME", xdg.to_str().unwrap())]);
    assert!(there(&format!("xdg/chunkmill/{DATABASE}")) && !there("me"));
    index("", &[]);
    assert!(there(&format!("me/.cache/chunkmill/{DATABASE}")));
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let mode = fs::metadata(xdg.join("chunkmill")).unwrap().permissions().mode();
        assert_eq!(mode & 0o77, 0, "nobody else reads it");
    }
}

#[test]
fn the_settings_file_names_the_folder_from_where_it_is() {
    let home = home(3);
    write(home.path(), "mine.toml", b"[embedding]\ncache = \"kept\"\ncache_size = 5000000\n");
    let mut command = program(home.path());
    command
        .env_remove("CHUNKMILL_EMBEDDING_CACHE")
        .args(["index", ".", "-o", "../out", "--config", "../mine.toml"])
        .args(FAKE);
    let (code, _, err) = finish(command.current_dir(home.path().join("docs")).output().unwrap());
    assert_eq!(code, 0, "{err}");
    assert!(home.path().join("kept").join(DATABASE).exists());
    let (code, _, err) = run(home.path(), &["index", "docs", "-o", "out", "--embedding-cache-size", "1000"]);
    assert_eq!(code, 2);
    assert!(err.contains("embedding-cache-size: 1000 bytes would leave no room"), "{err}");
}

#[test]
fn a_cache_that_cannot_be_had_is_a_warning_and_nothing_else() {
    let home = home(30);
    write(home.path(), "file", b"");
    index(home.path(), "off", FAKE);
    let (summary, err) = index(home.path(), "on", &[FAKE, &["--embedding-cache", "file/below"]].concat());
    assert_eq!(texts(&summary), (31, 0));
    assert!(err.contains("continues without the embedding cache") && err.matches("WARN").count() == 1, "{err}");
    assert!(tree(&home.path().join("off")) == tree(&home.path().join("on")));
}

#[test]
fn a_database_that_somebody_locks_for_long_is_a_warning_and_nothing_else() {
    let home = home(30);
    index(home.path(), "off", FAKE);
    drop(Cache::open(&home.path().join("cache"), MIN_LIMIT).unwrap());
    let other = rusqlite::Connection::open(home.path().join("cache").join(DATABASE)).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let (summary, err) = index(home.path(), "on", &cached(FAKE));
    assert_eq!(texts(&summary), (31, 0));
    assert!(
        err.contains("locked; this run continues without the embedding cache") && err.matches("WARN").count() == 1,
        "{err}"
    );
    assert!(tree(&home.path().join("off")) == tree(&home.path().join("on")));
}

#[cfg(unix)]
#[test]
fn a_full_disk_is_a_warning_and_nothing_else() {
    let home = home(4000);
    index(home.path(), "off", &[FAKE, &["--files", "16"]].concat());
    // No file may grow beyond 512 KiB (in units of 512 bytes). The dataset's files stay below that, the cache's do
    // not.
    let script = "trap '' XFSZ; ulimit -f 1024; exec \"$0\" \"$@\"";
    let binary = program(home.path()).get_program().to_owned();
    let mut command = Command::new("sh");
    command.args(["-c", script]).arg(binary).args(["index", "docs", "-o", "on", "--json", "--files", "16"]).args(FAKE);
    command.args(["--embedding-cache", "cache"]).current_dir(home.path());
    let (code, out, err) = finish(command.output().unwrap());
    assert_eq!(code, 0, "{err}");
    assert_eq!(texts(&serde_json::from_str(&out).unwrap()), (4001, 0));
    assert!(err.contains("continues without the embedding cache") && err.matches("WARN").count() == 1, "{err}");
    assert!(tree(&home.path().join("off")) == tree(&home.path().join("on")));
    let (summary, err) = index(home.path(), "again", &cached(FAKE));
    let (new, old) = texts(&summary);
    assert!(new + old == 4001 && err.is_empty(), "what the full disk left is a sound cache: {new} {old} {err}");
}

#[test]
fn two_processes_share_a_cache() {
    let home = TempDir::new().unwrap();
    let (one, two) = (home.path().join("one"), home.path().join("two"));
    // Half of the texts are in both.
    for i in 0..3000 {
        let text = format!("# Title {i}\n\n{}\n", format!("words of {i} ").repeat(8));
        for (range, corpus) in [(0..2000, &one), (1000..3000, &two)] {
            if range.contains(&i) {
                write(corpus, &format!("{i}.md"), text.as_bytes());
            }
        }
    }
    let spawn = |corpus: &Path, out: &str, cache: &str| {
        let mut command = program(home.path());
        command.arg("index").arg(corpus).args(["-o", out, "--json", "--threads", "1", "--files", "20"]).args(FAKE);
        command.args(["--fresh", "--embedding-cache", cache]);
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    };
    let end = |child: std::process::Child| {
        let (code, out, err) = finish(child.wait_with_output().unwrap());
        assert_eq!((code, err.as_str()), (0, ""));
        texts(&serde_json::from_str(&out).unwrap())
    };
    let off = [(&one, "off-one"), (&two, "off-two")].map(|(corpus, out)| spawn(corpus, out, "off"));
    assert_eq!(off.map(end), [(2000, 0), (2000, 0)]);
    for round in 0..2 {
        let cache = format!("cache-{round}");
        let both = [(&one, "on-one"), (&two, "on-two")].map(|(corpus, out)| spawn(corpus, out, &cache));
        let counts = both.map(end);
        assert!(counts.iter().all(|(new, old)| new + old == 2000), "{counts:?}");
        for corpus in ["one", "two"] {
            let [off, on] = ["off", "on"].map(|out| tree(&home.path().join(format!("{out}-{corpus}"))));
            assert!(off == on, "round {round}, {corpus}");
        }
        assert_eq!(end(spawn(&one, "again", &cache)), (0, 2000), "nothing of either was lost");
        assert_eq!(end(spawn(&two, "again", &cache)), (0, 2000));
    }
}

#[test]
fn two_who_share_a_cache_keep_its_limit_together() {
    let (fake, folder) = (fake(), TempDir::new().unwrap());
    let (space, path) = (Space::of(fake.as_ref()), folder.path());
    // In step: while one waits for a processor, the other could fill the cache several times.
    let (step, lost) = (Barrier::new(2), AtomicU32::new(0));
    let most = most_while(path, || {
        thread::scope(|scope| {
            for who in 0..2 {
                let (space, step, lost) = (&space, &step, &lost);
                scope.spawn(move || {
                    let cache = Cache::open(path, MIN_LIMIT).unwrap();
                    for part in 0..80u32 {
                        let vector = [part as f32; 64];
                        let key = |i: u32| blake3::hash(format!("{who} {part} {i}").as_bytes());
                        let keys: Vec<Hash> = (0..200).map(key).collect();
                        cache.put(space, keys.iter().map(|&key| (key, &vector[..])));
                        let found = cache.get(space, &keys);
                        let missing = found.iter().filter(|found| found.as_deref() != Some(&vector[..])).count();
                        lost.fetch_add(missing as u32, Ordering::Relaxed);
                        step.wait();
                    }
                });
            }
        });
    });
    assert_eq!(lost.into_inner(), 0, "what was just put in is there");
    assert!(most <= MIN_LIMIT, "{most} bytes");
    assert!(size(path) > MIN_LIMIT / 2);
}

#[test]
fn what_one_thread_put_in_all_threads_find_at_once() {
    let (fake, folder) = (fake(), TempDir::new().unwrap());
    let space = Space::of(fake.as_ref());
    let cache = Cache::open(folder.path(), 1 << 30).unwrap();
    let key = |number: u32| blake3::hash(&number.to_le_bytes());
    let vector = |number: u32| [number as f32; 64];
    let (last, found) = (AtomicU32::new(0), AtomicU32::new(0));
    thread::scope(|scope| {
        let reader = || {
            for _ in 0..5000 {
                let number = last.load(Ordering::Acquire);
                // Another reader may have taken it to write it.
                let vectors = cache.get(&space, &[key(number)]);
                assert!(number == 0 || vectors[0].as_deref() == Some(&vector(number)[..]), "vector {number}");
                found.fetch_add(1, Ordering::Relaxed);
            }
        };
        let readers: Vec<_> = (0..3).map(|_| scope.spawn(reader)).collect();
        let mut number = 0;
        while readers.iter().any(|reader| !reader.is_finished()) {
            // One vector for each answer: a disk that is busy writing answers nobody.
            if number <= found.load(Ordering::Relaxed) {
                number += 1;
                cache.put(&space, std::iter::once((key(number), &vector(number)[..])));
                last.store(number, Ordering::Release);
            }
            thread::yield_now();
        }
    });
}

/// The fake embedder, as slow as a model, with a record of what it has done.
struct Slow {
    fake: Box<dyn Embedder>,
    done: PathBuf,
}

/// Time per text.
const SLOW: Duration = Duration::from_millis(5);

impl Embedder for Slow {
    fn info(&self) -> &ModelInfo {
        self.fake.info()
    }
    fn encode(&self, text: &str, role: Role) -> chunkmill::error::Result<EncodedText> {
        self.fake.encode(text, role)
    }
    fn embed(&self, batch: &[ModelInput<'_>]) -> chunkmill::error::Result<Vec<f32>> {
        thread::sleep(SLOW * batch.len() as u32);
        let mut done = fs::File::options().append(true).create(true).open(&self.done).unwrap();
        std::io::Write::write_all(&mut done, &vec![b'.'; batch.len()]).unwrap();
        self.fake.embed(batch)
    }
    fn counter(&self) -> &dyn chunkmill::tokens::TokenCounter {
        self.fake.counter()
    }
    fn batching(&self) -> Batching {
        Batching { parallel: Parallel::One, ..self.fake.batching() }
    }
}

#[test]
#[ignore = "the process that the next test kills"]
fn slow_embedding() {
    let folder = PathBuf::from(std::env::var_os("SLOW_EMBEDDING").expect("a folder"));
    let cache = Cache::open(&folder.join("cache"), 1 << 30).unwrap();
    let slow = Slow { fake: fake(), done: folder.join("done") };
    let stop = AtomicBool::new(false);
    Batcher::new(&slow, Some(30))
        .with_cache(Some(&cache))
        .embed(&words(100_000), Role::Document, &stop, &|_, _| ())
        .unwrap();
}

#[test]
fn a_killed_run_loses_at_most_a_second_of_embedding() {
    let folder = TempDir::new().unwrap();
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--ignored", "--exact", "embed::cache::slow_embedding"])
        .env("SLOW_EMBEDDING", folder.path())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let done = || fs::read(folder.path().join("done")).map_or(0, |done| done.len());
    let started = Instant::now();
    while done() < 600 {
        assert!(started.elapsed() < Duration::from_secs(60) && child.try_wait().unwrap().is_none());
        thread::sleep(Duration::from_millis(10));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    let done = done();
    let texts = words(100_000);
    let cache = Cache::open(&folder.path().join("cache"), 1 << 30).unwrap();
    let cached = embed(fake().as_ref(), Some(&cache), &texts).cached;
    let lost = SLOW * (done - cached) as u32;
    assert!(cached > 0 && lost < Duration::from_secs(1), "{done} texts done, {cached} cached: {lost:?} lost");
}

#[test]
fn a_killed_job_goes_on_where_it_ended() {
    if default_model().is_none() {
        return;
    }
    let home = TempDir::new().unwrap();
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("datasets/larder/corpus");
    let job = |out: &str, cache: &str| {
        let mut command = program_with_models(home.path());
        command.arg("index").arg(&corpus).args(["-o", out, "--embedder", "cpu", "--precision", "f32", "--files", "1"]);
        command.args(["--json", "--embedding-cache", cache]);
        command
    };
    let mut killed = job("out", "cache").stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let rows = || -> rusqlite::Result<i64> {
        let database = home.path().join("cache").join(DATABASE);
        let database = rusqlite::Connection::open_with_flags(database, rusqlite::OpenFlags::SQLITE_OPEN_READ_ONLY)?;
        database.query_row("SELECT count(*) FROM texts", [], |row| row.get(0))
    };
    let started = Instant::now();
    // All texts are in one file of the dataset, so only the cache can contain the first ones.
    while rows().unwrap_or_default() < 50 {
        assert!(started.elapsed() < Duration::from_secs(120) && killed.try_wait().unwrap().is_none());
        thread::sleep(Duration::from_millis(10));
    }
    killed.kill().unwrap();
    killed.wait().unwrap();
    assert!(!home.path().join("out/manifest.json").exists(), "it was killed before its end");
    let (code, out, err) = finish(job("out", "cache").output().unwrap());
    assert_eq!(code, 0, "{err}");
    let (new, old) = texts(&serde_json::from_str(&out).unwrap());
    assert!(old >= 50 && new > 0, "{old} texts were cached, {new} were not");
    let (code, _, err) = finish(job("fresh", "off").output().unwrap());
    assert_eq!(code, 0, "{err}");
    assert!(tree(&home.path().join("out")) == tree(&home.path().join("fresh")));
}

#[test]
fn vectors_are_written_while_nothing_more_comes() {
    let (folder, fake) = (TempDir::new().unwrap(), fake());
    let cache = Cache::open(folder.path(), MIN_LIMIT).unwrap();
    embed(fake.as_ref(), Some(&cache), &words(10));
    let started = Instant::now();
    let rows = || -> i64 {
        let other = rusqlite::Connection::open(folder.path().join(DATABASE)).unwrap();
        other.query_row("SELECT count(*) FROM texts", [], |row| row.get(0)).unwrap()
    };
    while rows() < 10 {
        assert!(started.elapsed() < Duration::from_secs(20));
        thread::sleep(Duration::from_millis(20));
    }
    drop(cache);
}
