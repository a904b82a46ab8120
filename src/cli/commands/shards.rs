//! `chunkmill plan`, `run` and `commit`: a job split into shards.

use std::num::NonZeroUsize;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::cli::flags::{EmbeddingFlags, RunFlags, ServiceFlags};
use crate::cli::job::{JobArgs, ProgressArgs, Ready, left_out, print_report, size, skipped, stop_on_interrupt};
use crate::cli::output::{print_json, print_json_pretty, print_prose};
use crate::cli::start::warn_of_settings;
use crate::config::Options;
use crate::corpus::Root;
use crate::embed::{Money, ServiceSettings};
use crate::error::{Error, exit};
use crate::job::{self, Plan, ServiceWork};
use crate::storage::Location;
use crate::value::{Value, count};

#[derive(clap::Args)]
pub(crate) struct PlanArgs {
    #[command(flatten)]
    job: JobArgs,
    /// Print a plan with N shards, as JSON
    #[arg(long, value_name = "N", help_heading = "Running", value_parser = NonZeroUsize::read)]
    shards: Option<NonZeroUsize>,
    /// Plan to delete the documents that the corpus no longer has, even if they are more than half of the dataset
    #[arg(long, help_heading = "Running")]
    allow_shrink: bool,
    /// Print the plan as JSON
    #[arg(long, help_heading = "Running")]
    json: bool,
}

#[derive(clap::Args)]
pub(crate) struct RunArgs {
    /// Path or URL of a plan that `chunkmill plan --shards` printed
    #[arg(long, value_name = "FILE")]
    plan: Location,
    /// Which shard to build, as I/N with I from 1
    #[arg(long, value_name = "I/N")]
    shard: Shard,
    /// The dataset: a folder, or a URL such as `s3://BUCKET/PREFIX`
    #[arg(short, long = "output", value_name = "OUT")]
    out: Location,
    #[command(flatten)]
    embedding: EmbeddingFlags,
    #[command(flatten)]
    service: ServiceFlags,
    #[command(flatten)]
    run: RunFlags,
    #[command(flatten)]
    progress: ProgressArgs,
}

#[derive(clap::Args)]
pub(crate) struct CommitArgs {
    /// Path or URL of a plan that `chunkmill plan --shards` printed
    #[arg(long, value_name = "FILE")]
    plan: Location,
    /// The dataset: a folder, or a URL such as `s3://BUCKET/PREFIX`
    #[arg(short, long = "output", value_name = "OUT")]
    out: Location,
    /// Print the result as one JSON object
    #[arg(long)]
    json: bool,
}

/// A plan with everything needed to execute it.
#[derive(Serialize, Deserialize)]
struct PlanFile {
    /// [`Plan::id`].
    id: String,
    /// Roots as on the command line. Relative paths are resolved where `run` is called.
    corpus: Vec<String>,
    /// All settings, from every source.
    options: Options,
    /// Money for the service, by `--price`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    cost: Option<Money>,
    #[serde(flatten)]
    plan: Plan,
}

impl PlanFile {
    fn read(plan: &Location) -> Result<Self, Error> {
        const HELP: &str = "make it with `chunkmill plan CORPUS -o OUT --shards N > FILE`";
        // The user names it, so it may be a pipe.
        let text =
            if plan.is_in_object_store() { plan.storage().read(plan.path()) } else { std::fs::read(plan.path()) };
        let text = text.map_err(Error::named(plan.path(), HELP))?;
        let wrong = |problem: String| Error::setting(plan.to_string(), problem, HELP);
        let file: Self = serde_json::from_slice(&text).map_err(|error| wrong(format!("is not a plan: {error}")))?;
        if file.id == file.plan.id() { Ok(file) } else { Err(wrong("was changed after it was made".to_owned())) }
    }
}

/// `I/N`, or `I` alone.
#[derive(Debug, Clone, Copy)]
struct Shard {
    index: usize,
    of: Option<usize>,
}

impl FromStr for Shard {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (index, of) = text.split_once('/').map_or((text, None), |(index, of)| (index, Some(of)));
        let number = |text: &str| text.parse().map_err(|_| "write I/N, like 2/4".to_owned());
        Ok(Self { index: number(index)?, of: of.map(number).transpose()? })
    }
}

pub(crate) fn plan(args: PlanArgs, verbose: bool) -> anyhow::Result<u8> {
    let (corpus, out) = (args.job.corpus.corpus.clone(), args.job.out.clone());
    let roots = args.job.corpus.roots()?;
    let options = args.job.options()?;
    let config = options.clone().resolve()?;
    warn_of_settings(&config);
    let service = config.service.clone();
    let Ready { mut job, embedder, stop } = Ready::new(roots, config, false)?;
    job.allow_shrink = args.allow_shrink;
    let shards = args.shards.map_or(1, NonZeroUsize::get);
    let plan = job::plan(&job, &out, embedder.as_ref(), shards, &stop)?;
    let to_make = plan.parts.iter().filter(|part| part.shard.is_some()).count();
    if shards > to_make.max(1) {
        let (shards, files) = (count(shards, "shard"), count(to_make, "file"));
        tracing::warn!(
            "{files} to build in each table for {shards}: the others have nothing to do; raise --files or lower --shards"
        );
    }
    if args.json || args.shards.is_some() {
        tracing::info!("{}", describe(&plan, service.as_ref(), false));
        let price = service.and_then(|service| service.price);
        let cost = price.zip(plan.estimate.service).map(|(price, work)| price.of_tokens(work.tokens));
        print_json_pretty(&PlanFile { id: plan.id(), corpus, options, cost, plan })?;
    } else {
        print_prose(describe(&plan, service.as_ref(), verbose))?;
    }
    Ok(exit::DONE)
}

fn describe(plan: &Plan, service: Option<&ServiceSettings>, verbose: bool) -> String {
    let Plan { documents, estimate, parts, .. } = plan;
    let to_make = parts.iter().filter(|part| part.shard.is_some()).count();
    let mut lines = vec![format!(
        "{}: {} new, {} changed, {} unchanged; {} deleted since",
        count(documents.discovered, "document"),
        documents.new.count,
        documents.changed.count,
        documents.unchanged,
        documents.deleted.count
    )];
    if verbose {
        lines.extend(documents.new.first.iter().map(|id| format!("  new        {id}")));
        lines.extend(documents.changed.first.iter().map(|id| format!("  change     {id}")));
        lines.extend(documents.deleted.first.iter().map(|id| format!("  delete     {id}")));
        lines.extend(plan.other_files.paths.first.iter().map(|path| format!("  leave out  {path}")));
    } else if documents.deleted.count > 0 {
        lines.push(format!("  delete     {}", documents.deleted));
    }
    if plan.other_files.paths.count > 0 {
        lines.push(left_out(&plan.other_files, verbose));
    }
    if !plan.dropped.is_empty() {
        lines.push(format!("  drop       {}", count(plan.dropped.len(), "duplicate")));
    }
    if let passed_over @ 1.. = documents.passed_over.saturating_sub(plan.dropped.len() as u64) {
        let passed_over = count(passed_over, "document");
        lines.push(format!("  quarantine {passed_over}, known from discovery alone"));
    }
    lines.extend(skipped(&plan.skipped));
    lines.push(format!("  files      {to_make} of {} to build in each table", parts.len()));
    if to_make > 0 {
        lines.push(format!(
            "  to embed   {}, {}: about {}, {}, {} of the model",
            count(estimate.documents, "document"),
            size(estimate.bytes),
            count(estimate.chunks, "chunk"),
            count(estimate.tokens, "token"),
            count(estimate.model_tokens, "token")
        ));
        if let (Some(work), Some(service)) = (estimate.service, service) {
            lines.extend(describe_service(work, service));
            return lines.join("\n");
        }
        let (whole, of_static) = (estimate.seconds.ceil(), estimate.seconds_static.ceil());
        let quicker = if of_static > 0.0 && 4.0 * of_static < whole {
            format!("; with a static model, less accurate: {of_static:.0} s (`chunkmill model list`)")
        } else {
            String::new()
        };
        lines.push(format!("  time       about {whole:.0} s on this machine, in one process{quicker}"));
    }
    lines.join("\n")
}

/// Says what a service will be asked for, how long that takes at least, and what it costs.
#[expect(clippy::cast_precision_loss, reason = "for people")]
fn describe_service(work: ServiceWork, service: &ServiceSettings) -> Vec<String> {
    let ServiceWork { texts, tokens, texts_cached, requests } = work;
    let cached = match texts_cached {
        0 => String::new(),
        cached => format!("; the cache has {}", count(cached, "other")),
    };
    let mut lines = vec![format!(
        "  to send    {}, {} in {} to {}{cached}",
        count(texts, "text"),
        count(tokens, "token"),
        count(requests, "request"),
        service.endpoint
    )];
    let minutes = |amount: u64, most: Option<usize>| most.map(|most| amount as f64 / most.max(1) as f64);
    let by_limits = [minutes(requests, service.requests_per_minute), minutes(tokens, service.tokens_per_minute)];
    lines.push(match by_limits.into_iter().flatten().reduce(f64::max) {
        Some(minutes) => format!("  time       at least {:.0} s at these limits", (minutes * 60.0).ceil()),
        None => "  time       as long as the service takes; no limit is set".to_owned(),
    });
    if let Some(price) = service.price {
        lines.push(format!("  cost       about {}, at {price} for a million tokens", price.of_tokens(tokens)));
    }
    lines
}

pub(crate) fn run(args: RunArgs, quiet: bool) -> anyhow::Result<u8> {
    let PlanFile { corpus, options, plan, .. } = PlanFile::read(&args.plan)?;
    if let Some(of) = args.shard.of.filter(|of| *of != plan.shards) {
        return Err(Error::setting(
            "shard",
            format!("the plan has {}, not {of}", count(plan.shards, "shard")),
            format!("--shard {}/{}", args.shard.index, plan.shards),
        )
        .into());
    }
    let roots: Vec<Root> = corpus.iter().map(|root| root.parse()).collect::<Result<_, Error>>()?;
    // Flags and variables only decide how the work is done here; the plan decides what is built.
    let Options { embedding, service, run, .. } = Options::from_env()?;
    let (flags, variables) = (args.embedding.0, embedding);
    let here = Options { embedding: flags, service: args.service.0, run: args.run.0, ..Options::default() };
    let here = here.or(Options { embedding: variables, service, run, ..Options::default() });
    let Ready { job, embedder, stop } = Ready::new(roots, here.or(options).resolve()?, false)?;
    let progress = args.progress.start(quiet)?;
    let watch = |event| progress.on(event);
    let receipt = job::run_shard(&job, &args.out, embedder.as_ref(), &plan, args.shard.index, &stop, &watch);
    progress.finish();
    print_json(&receipt?)?;
    Ok(exit::DONE)
}

pub(crate) fn commit(args: &CommitArgs, quiet: bool) -> anyhow::Result<u8> {
    let PlanFile { plan, .. } = PlanFile::read(&args.plan)?;
    let stop = stop_on_interrupt()?;
    let report = job::commit(&plan, &args.out, &stop)?;
    print_report(&report, &args.out.to_string(), args.json, quiet)
}
