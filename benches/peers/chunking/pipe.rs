//! What our worker and that of text-splitter share: the documents in memory, the clock, and the pipe to the driver.
//!
//! Part of both programs, so that both are timed by the same lines. A worker reads its documents, says
//! in one line of JSON what it is, and answers each line on standard input with another. `{"run": THREADS}` cuts all
//! documents once and says how long that took; `{"chunks": PATH}` cuts them again and writes the chunks, one document
//! a line.

use std::io::{BufRead, BufWriter, Write, stdin};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Instant;

use serde_json::{Value, json};

/// A document as every worker gets it.
pub(crate) struct Text {
    pub(crate) path: String,
    pub(crate) text: String,
}

/// The documents of a file of JSON lines, or any other file's whole text as one document; and the seconds that took.
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

/// Processor time of this thread in seconds, where the system tells it. It is exact to a few milliseconds: means over
/// several passes say more than single ones.
fn cpu_seconds() -> Option<f64> {
    let told = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    told.split(' ').next()?.parse().ok().map(|nanoseconds: f64| nanoseconds / 1e9)
}

/// Answers the driver until it hangs up. It is also told how long reading the documents took: that is not starting up.
/// `cut` is what is timed: a document in memory becomes its chunks. `show` makes of them what the judge reads: `start`,
/// `end`, `text`, and `skip`, how much of the text comes before `start`.
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

/// Cuts every document once; each thread takes the next one that is left. What was made is held to the end.
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
