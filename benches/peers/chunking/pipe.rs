//! The parts that our worker and the one of text-splitter share: the documents in memory, the clock, and the pipe to
//! the driver.
//!
//! Both programs include this file, so the same lines time both. A worker reads its documents and prints one line of
//! JSON that describes itself. It then answers each line on standard input with one line of JSON. `{"run": THREADS}`
//! cuts all documents once and reports how long that took. `{"chunks": PATH}` cuts them again and writes the chunks
//! to a file, one document per line.

use std::io::{BufRead, BufWriter, Write, stdin};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Instant;

use serde_json::{Value, json};

/// A document as every worker receives it.
pub(crate) struct Text {
    pub(crate) path: String,
    pub(crate) text: String,
}

/// Returns the documents of a file of JSON lines, or the whole text of any other file as one document, and the
/// seconds that reading took.
pub(crate) fn load(file: &Path) -> (Vec<Text>, f64) {
    let start = Instant::now();
    let read = std::fs::read_to_string(file).unwrap();
    let string = |value: &Value| value.as_str().unwrap().to_owned();
    let text = |line: &Value| Text { path: string(&line["path"]), text: string(&line["text"]) };
    let texts = if file.extension().is_some_and(|extension| extension == "jsonl") {
        read.lines().map(|line| text(&serde_json::from_str(line).unwrap())).collect()
    } else {
        vec![Text { path: file.file_name().unwrap().to_string_lossy().into_owned(), text: read }]
    };
    (texts, start.elapsed().as_secs_f64())
}

/// Returns the processor time of this thread in seconds, if the system reports it. It is accurate to a few
/// milliseconds, so means over several passes say more than single passes.
fn cpu_seconds() -> Option<f64> {
    let told = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    told.split(' ').next()?.parse().ok().map(|nanoseconds: f64| nanoseconds / 1e9)
}

/// Answers the driver until it hangs up. The driver also learns how long reading the documents took, because that is
/// not part of the start-up. Only `cut` is timed: it turns a document in memory into its chunks. `show` converts
/// these into the form that the judge reads: `start`, `end`, `text`, and `skip`, the length of the text that comes
/// before `start`.
pub(crate) fn serve<M: Send>(
    (texts, loading): &(Vec<Text>, f64),
    mut ready: Value,
    cut: impl Fn(usize, &Text) -> M + Sync,
    show: impl Fn(&Text, M) -> Vec<Value>,
) {
    ready["loading"] = json!(loading);
    ready["bytes"] = json!(true);
    println!("{ready}");
    for line in stdin().lock().lines() {
        let request: Value = serde_json::from_str(&line.unwrap()).unwrap();
        if let Some(threads) = request["run"].as_u64() {
            let (start, cpu) = (Instant::now(), cpu_seconds());
            let made = pass(texts, &cut, usize::try_from(threads).unwrap());
            let seconds = start.elapsed().as_secs_f64();
            let cpu = cpu_seconds().zip(cpu).map(|(after, before)| after - before).filter(|_| threads == 1);
            println!("{}", json!({ "seconds": seconds, "cpu_seconds": cpu, "documents": made.len() }));
        } else {
            let path = PathBuf::from(request["chunks"].as_str().unwrap());
            let mut out = BufWriter::new(std::fs::File::create(&path).unwrap());
            writeln!(out, "{ready}").unwrap();
            for (text, (_, made)) in texts.iter().zip(pass(texts, &cut, 1)) {
                writeln!(out, "{}", json!({ "path": text.path, "chunks": show(text, made) })).unwrap();
            }
            out.flush().unwrap();
            println!("{}", json!({ "chunks": path }));
        }
    }
}

/// Cuts every document once. Each thread takes the next remaining document. All results are kept until the end.
fn pass<M: Send>(texts: &[Text], cut: &(impl Fn(usize, &Text) -> M + Sync), threads: usize) -> Vec<(usize, M)> {
    let next = AtomicUsize::new(0);
    let work = || {
        let take = || Some(next.fetch_add(1, Ordering::Relaxed)).filter(|&index| index < texts.len());
        std::iter::from_fn(take).map(|index| (index, cut(index, &texts[index]))).collect::<Vec<_>>()
    };
    let mut made = thread::scope(|scope| {
        let others: Vec<_> = (1..threads).map(|_| scope.spawn(work)).collect();
        let mut made = work();
        made.extend(others.into_iter().flat_map(|other| other.join().unwrap()));
        made
    });
    made.sort_by_key(|(index, _)| *index);
    made
}
