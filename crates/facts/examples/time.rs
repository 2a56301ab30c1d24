//! How long a large diff takes: `time [LINES]` makes a diff of that many lines, 5,000 if not said, and judges a text of ten statements.
#![allow(clippy::print_stdout, reason = "a tool for whoever edits the rules")]

use std::{error::Error, fmt::Write, time::Instant};

use veridiff_facts::{change::Change, judge::Judgement};
use veridiff_text::{diff::Diff, sample::Task};

const TEXT: &str = "The lease is acquired before the numbers are collected. Why is the verbose trace gone? It now returns `value_7` \
instead of `old_9`. `field_12` defaults to 300. Please check the `limit_44` as well. The session is passed to `handle_80`. The item is \
stored only if `limit_44` is set. It no longer logs `old_3`. The delay goes from 30 to 90 seconds. `absent_name` is not used anywhere.";

fn main() -> Result<(), Box<dyn Error>> {
    let lines: usize = std::env::args().nth(1).map_or(Ok(5000), |lines| lines.parse())?;
    let mut text = String::from("--- a/store.py\n+++ b/store.py\n@@ @@\n");
    for block in 0..lines / 10 {
        write!(
            text,
            " def handle_{block}(item, limit_{block}=None):\n     field_{block} = item.size\n-    value = old_{block}(item)\n-    delay = 30\n\
+    value_{block} = collect_numbers(item, {block})\n+    if limit_{block} is not None:\n+        store_item(value_{block}, 90)\n\
+    log.info('done %s', value_{block})\n     return value_{block}\n \n"
        )?;
    }
    let started = Instant::now();
    let small = Diff::parse("--- a/a.py\n+++ b/a.py\n@@ @@\n-a = 1\n+b = 2\n")?;
    Judgement::new(&Change::new(&small), TEXT, Task::Review, None);
    let patterns = started.elapsed();
    let started = Instant::now();
    let diff = Diff::parse(&text)?;
    let change = Change::new(&diff);
    let read = started.elapsed();
    let judgement = Judgement::new(&change, TEXT, Task::Review, None);
    let first = started.elapsed() - read;
    let again = Instant::now();
    Judgement::new(&change, TEXT, Task::Review, None);
    println!(
        "patterns in {patterns:.2?}; {} lines: read in {read:.2?}, {} statements judged in {first:.2?}, again in {:.2?}",
        diff.lines().len(),
        judgement.statements.len(),
        again.elapsed()
    );
    Ok(())
}
