//! What processes use, as the kernel tells it of each.

use std::fs;

/// A page of memory where we look at it.
const PAGE_KB: u64 = 4;

/// The resident memory of a process and of all below it, in KiB. What ends meanwhile has none.
pub(crate) fn resident_kb(process: i32) -> u64 {
    sum_below(process, |folder| {
        let text = fs::read_to_string(format!("{folder}/statm")).ok()?;
        Some(text.split(' ').nth(1)?.parse::<u64>().ok()? * PAGE_KB)
    })
}

/// A tick of the processor as the kernel tells it, in milliseconds.
const TICK_MS: u64 = 10;

/// The time of the processor of a process and of all below it, with those that have ended and been waited for.
pub(crate) fn cpu_ms(process: i32) -> u64 {
    sum_below(process, |folder| {
        let text = fs::read_to_string(format!("{folder}/stat")).ok()?;
        // a program's name may hold anything, blanks and parentheses too; its time is the 14th to 17th word
        let (_, words) = text.rsplit_once(')')?;
        let ticks = words.split_ascii_whitespace().skip(11).take(4).filter_map(|word| word.parse::<u64>().ok());
        Some(ticks.sum::<u64>() * TICK_MS)
    })
}

/// The sum over a process and all below it of what is said in its folder.
fn sum_below(process: i32, said: impl Fn(&str) -> Option<u64>) -> u64 {
    let mut waiting = vec![process];
    let mut sum = 0;
    while let Some(process) = waiting.pop() {
        let folder = format!("/proc/{process}");
        sum += said(&folder).unwrap_or(0);
        let threads = fs::read_dir(format!("{folder}/task")).into_iter().flatten().flatten();
        for thread in threads {
            let children = fs::read_to_string(thread.path().join("children")).unwrap_or_default();
            waiting.extend(children.split_ascii_whitespace().filter_map(|number| number.parse::<i32>().ok()));
        }
    }
    sum
}
