//! What is counted, in the text form of Prometheus.

use std::time::Duration;

use metrics::{counter, gauge, histogram, with_local_recorder};
use metrics_exporter_prometheus::{PrometheusBuilder, PrometheusHandle, PrometheusRecorder};

use veridiff_facts::verdict::Verdict;

use crate::refusal::CODES;

/// Upper bounds of durations, in seconds.
const SECONDS: [f64; 13] = [0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 15.0, 60.0];

/// The verdicts, from the least to the worst.
const VERDICTS: [Verdict; 5] =
    [Verdict::NothingToCheck, Verdict::Clear, Verdict::Abstain, Verdict::Unsupported, Verdict::Contradicted];

/// How an answer is counted whose change or text the gate could make nothing of.
pub(crate) const NO_VERDICT: &str = "none";

/// Why answers are most often not checked.
const UNCHECKED: [&str; 6] = ["fault", "full", "late", "shape", "too_large", "unreadable"];

/// The counters of one service.
pub(crate) struct Meter {
    recorder: PrometheusRecorder,
    handle: PrometheusHandle,
}

impl Meter {
    /// Counters that stand at nothing; those of a gateway too, if it is one.
    pub fn new(is_gateway: bool) -> Self {
        // only an empty list of bounds is refused
        let builder = PrometheusBuilder::new();
        let recorder = builder.set_buckets(&SECONDS).unwrap_or_default().build_recorder();
        let meter = Meter { handle: recorder.handle(), recorder };
        // what has not happened yet is there from the beginning: a rate needs a first value
        meter.dropped(0);
        with_local_recorder(&meter.recorder, || {
            counter!("veridiff_connections_total").increment(0);
            gauge!("veridiff_connections").set(0.0);
            CODES.iter().for_each(|(code, ..)| counter!("veridiff_refused_total", "code" => *code).increment(0));
            if is_gateway {
                let verdicts = VERDICTS.map(Verdict::name).into_iter().chain([NO_VERDICT]);
                verdicts.for_each(|name| counter!("veridiff_gateway_verdicts_total", "verdict" => name).increment(0));
                UNCHECKED
                    .iter()
                    .for_each(|code| counter!("veridiff_gateway_unchecked_total", "code" => *code).increment(0));
            }
        });
        meter
    }

    /// Counts a request that was answered. `code` is that of a refusal.
    pub fn request(&self, route: &str, status: u16, code: Option<&'static str>, took: Duration) {
        let (route, status) = (route.to_owned(), status.to_string());
        with_local_recorder(&self.recorder, || {
            counter!("veridiff_requests_total", "route" => route.clone(), "status" => status).increment(1);
            histogram!("veridiff_request_seconds", "route" => route).record(took.as_secs_f64());
            if let Some(code) = code {
                counter!("veridiff_refused_total", "code" => code).increment(1);
            }
        });
    }

    /// Counts samples, or texts, that one worker computed together.
    pub fn computed(&self, kind: &'static str, n: usize, took: Duration) {
        with_local_recorder(&self.recorder, || {
            counter!("veridiff_samples_total", "kind" => kind).increment(n as u64);
            histogram!("veridiff_sample_seconds", "kind" => kind).record(took.as_secs_f64() / n.max(1) as f64);
            histogram!("veridiff_batch_samples", "kind" => kind).record(n as f64);
        });
    }

    /// Counts work that was not begun: nobody waited for it any more, or its time was over.
    pub fn dropped(&self, n: usize) {
        with_local_recorder(&self.recorder, || counter!("veridiff_dropped_total").increment(n as u64));
    }

    /// Counts what is said of a text of a generator.
    pub fn verdict(&self, verdict: &'static str) {
        with_local_recorder(&self.recorder, || {
            counter!("veridiff_gateway_verdicts_total", "verdict" => verdict).increment(1);
        });
    }

    /// Counts an answer of a generator that was to be checked and was not.
    pub fn unchecked(&self, code: &'static str) {
        with_local_recorder(&self.recorder, || {
            counter!("veridiff_gateway_unchecked_total", "code" => code).increment(1);
        });
    }

    /// Counts what a generator was asked, by the status of its answer or the code of why there is none, with the time to its head.
    pub fn upstream(&self, status: &str, took: Duration) {
        let status = status.to_owned();
        with_local_recorder(&self.recorder, || {
            histogram!("veridiff_upstream_seconds", "status" => status).record(took.as_secs_f64());
        });
    }

    /// Counts a connection that was opened.
    pub fn connected(&self, n_open: usize) {
        with_local_recorder(&self.recorder, || {
            counter!("veridiff_connections_total").increment(1);
            gauge!("veridiff_connections").set(n_open as f64);
        });
    }

    /// All counters, beside how much waits now.
    pub fn page(&self, n_waiting: usize) -> String {
        with_local_recorder(&self.recorder, || gauge!("veridiff_queue_samples").set(n_waiting as f64));
        self.handle.render()
    }

    /// Gathers what durations were recorded, which would be kept one by one until somebody asks.
    pub fn gather(&self) {
        self.handle.run_upkeep();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_counted_is_told() {
        let meter = Meter::new(true);
        meter.verdict("clear");
        meter.unchecked("late");
        meter.upstream("200", Duration::from_millis(2));
        meter.request("/v1/check", 429, Some("full"), Duration::from_millis(2));
        meter.computed("check", 3, Duration::from_secs(3));
        meter.dropped(2);
        let page = meter.page(7);
        for line in [
            r#"veridiff_requests_total{route="/v1/check",status="429"} 1"#,
            r#"veridiff_refused_total{code="full"} 1"#,
            r#"veridiff_samples_total{kind="check"} 3"#,
            r#"veridiff_request_seconds_bucket{route="/v1/check",le="0.005"} 1"#,
            r#"veridiff_sample_seconds_sum{kind="check"} 1"#,
            "veridiff_dropped_total 2",
            r#"veridiff_gateway_verdicts_total{verdict="clear"} 1"#,
            r#"veridiff_gateway_verdicts_total{verdict="none"} 0"#,
            r#"veridiff_gateway_unchecked_total{code="late"} 1"#,
            r#"veridiff_upstream_seconds_bucket{status="200",le="0.005"} 1"#,
            "veridiff_queue_samples 7",
        ] {
            assert!(page.lines().any(|found| found == line), "{line}\n{page}");
        }
    }
}
