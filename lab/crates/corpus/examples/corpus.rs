//! Makes a corpus: `corpus OUT [--keep-out FILE]… [--not-in FILE]… [--without ROAD]… [--max-commits N] [--max-searched N] DIR…`
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a tool for whoever edits the roads")]

use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

use veridiff_corpus::aside::Aside;
use veridiff_corpus::history::{History, name_of};
use veridiff_corpus::part::Part;
use veridiff_corpus::{Selection, Settings, assemble, collect};

fn main() -> Result<(), Box<dyn Error>> {
    let mut args = std::env::args().skip(1);
    let out = PathBuf::from(args.next().ok_or("give a file to write")?);
    let (mut aside, mut settings, mut selection) = (Aside::default(), Settings::default(), Selection::default());
    let mut dirs = Vec::new();
    while let Some(arg) = args.next() {
        let mut value = || args.next().ok_or("a value is missing");
        match arg.as_str() {
            "--keep-out" => aside.add_list(Path::new(&value()?))?,
            "--not-in" => aside.add_samples(Path::new(&value()?))?,
            "--without" => selection.without.push(value()?),
            "--max-commits" => settings.max_commits = value()?.parse()?,
            "--max-searched" => settings.max_searched = value()?.parse()?,
            _ => dirs.push(PathBuf::from(arg)),
        }
    }
    let start = std::time::Instant::now();
    let mut histories = Vec::new();
    for dir in &dirs {
        match History::open(&name_of(dir), dir, &settings, &aside) {
            Ok(history) => histories.push(history),
            Err(skipped) => eprintln!("{}: {}", skipped.name, skipped.why),
        }
    }
    let folder = out.with_extension("parts");
    fs::create_dir_all(&folder)?;
    let jobs = collect::jobs(&histories, &folder, &settings, &aside);
    let n_done = AtomicUsize::new(0);
    collect::run(&jobs, &settings, &aside, |job| {
        let n = n_done.fetch_add(1, Ordering::Relaxed) + 1;
        eprintln!("{n}/{} {} {:.0} s", jobs.len(), job.history.name, start.elapsed().as_secs_f64());
    })?;
    let parts = jobs.iter().map(|job| Part::read(&job.path)).collect::<Result<Vec<Part>, _>>()?;
    let corpus = assemble(parts, &selection, None)?;
    corpus.write(&out)?;
    println!("{}\n{:.0} s", corpus.report, start.elapsed().as_secs_f64());
    Ok(())
}
