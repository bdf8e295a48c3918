//! Families of numbers as monitoring systems read them: Prometheus text and OpenMetrics text.
//!
//! The order is that of the families, and within one that of the labels: the same numbers give the
//! same bytes. A family of which nothing is known is not there at all.

use std::fmt::Write;

use report::{Family, MetricKind, Sample};

/// The Prometheus text format, version 0.0.4.
pub const PROMETHEUS: MetricsText =
    MetricsText { media_type: "text/plain; version=0.0.4; charset=utf-8", is_open_metrics: false };

/// The OpenMetrics text format, version 1.0.0.
pub const OPEN_METRICS: MetricsText = MetricsText {
    media_type: "application/openmetrics-text; version=1.0.0; charset=utf-8",
    is_open_metrics: true,
};

/// A text format for metrics.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MetricsText {
    /// What a web server calls it.
    pub media_type: &'static str,
    is_open_metrics: bool,
}

impl MetricsText {
    /// What a scraper that sends this `Accept` header wants: OpenMetrics only if it says so.
    pub fn accepted(accept: &str) -> MetricsText {
        if accept.contains("application/openmetrics-text") { OPEN_METRICS } else { PROMETHEUS }
    }

    pub fn render(self, families: &[Family]) -> String {
        self.part(families) + self.end()
    }

    /// Some of the families, to be joined with others and [`end`](MetricsText::end).
    pub fn part(self, families: &[Family]) -> String {
        let mut text = String::new();
        for family in families {
            self.family(&mut text, family);
        }
        text
    }

    /// What stands behind all families.
    pub fn end(self) -> &'static str {
        if self.is_open_metrics { "# EOF\n" } else { "" }
    }

    fn family(self, text: &mut String, family: &Family) {
        let mut samples: Vec<(&Sample, f64)> =
            family.samples.iter().filter_map(|sample| Some((sample, sample.value?))).collect();
        if samples.is_empty() {
            return;
        }
        samples.sort_by(|(one, _), (other, _)| one.labels.cmp(&other.labels));
        let sample_name = family.sample_name();
        let name = if self.is_open_metrics { family.name } else { &sample_name };
        let kind = match family.kind {
            MetricKind::Gauge => "gauge",
            MetricKind::Counter | MetricKind::ForeignCounter => "counter",
        };
        // A String takes whatever is written to it, so that no write here can fail.
        let _ = writeln!(text, "# HELP {name} {}", self.help(family.help));
        let _ = writeln!(text, "# TYPE {name} {kind}");
        if self.is_open_metrics && !family.unit.is_empty() {
            let _ = writeln!(text, "# UNIT {name} {}", family.unit);
        }
        for (sample, value) in samples {
            text.push_str(&sample_name);
            for (index, (label, value)) in family.labels.iter().zip(&sample.labels).enumerate() {
                text.push(if index == 0 { '{' } else { ',' });
                let _ = write!(text, "{label}=\"");
                escape(text, value, true);
                text.push('"');
            }
            if !sample.labels.is_empty() {
                text.push('}');
            }
            let _ = writeln!(text, " {}", number(value));
        }
    }

    fn help(self, sentence: &str) -> String {
        let mut text = String::new();
        // Prometheus text escapes no quotes in a help, OpenMetrics does.
        escape(&mut text, sentence, self.is_open_metrics);
        text
    }
}

fn escape(text: &mut String, value: &str, with_quotes: bool) {
    for letter in value.chars() {
        match letter {
            '\\' => text.push_str("\\\\"),
            '\n' => text.push_str("\\n"),
            '"' if with_quotes => text.push_str("\\\""),
            letter => text.push(letter),
        }
    }
}

/// A number without an exponent, infinities in the words of the formats.
fn number(value: f64) -> String {
    if value.is_nan() {
        "NaN".to_owned()
    } else if value.is_infinite() {
        if value > 0.0 { "+Inf" } else { "-Inf" }.to_owned()
    } else {
        value.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn families() -> Vec<Family> {
        let labels = &["cluster", "state"];
        let help = "Jobs by state, \"all\" of them\nhere.";
        let mut jobs = Family::gauge("plimsoll_jobs", "", labels, help);
        jobs.push(&["maple", "running"], 3.0);
        jobs.push(&["birch", "a\\b \"c\"\nd é"], 0.0);
        jobs.push(&["birch", "unknown"], None);
        let mut seconds = Family::counter(
            "plimsoll_source_busy_seconds",
            "seconds",
            &["cluster"],
            "Time that a command took in all.",
        );
        seconds.push(&["maple"], 1.5);
        let mut nothing = Family::gauge("plimsoll_nothing", "", &[], "Of this nothing is known.");
        nothing.push(&[], None);
        let mut large = Family::gauge("plimsoll_memory_bytes", "bytes", &[], "Memory.");
        large.push(&[], 17_592_186_044_416_f64);
        vec![jobs, seconds, nothing, large]
    }

    #[test]
    fn prometheus_text() {
        assert_eq!(
            PROMETHEUS.render(&families()),
            r##"# HELP plimsoll_jobs Jobs by state, "all" of them\nhere.
# TYPE plimsoll_jobs gauge
plimsoll_jobs{cluster="birch",state="a\\b \"c\"\nd é"} 0
plimsoll_jobs{cluster="maple",state="running"} 3
# HELP plimsoll_source_busy_seconds_total Time that a command took in all.
# TYPE plimsoll_source_busy_seconds_total counter
plimsoll_source_busy_seconds_total{cluster="maple"} 1.5
# HELP plimsoll_memory_bytes Memory.
# TYPE plimsoll_memory_bytes gauge
plimsoll_memory_bytes 17592186044416
"##
        );
    }

    #[test]
    fn open_metrics_text() {
        let text = OPEN_METRICS.render(&families());
        assert!(text.starts_with(
            "# HELP plimsoll_jobs Jobs by state, \\\"all\\\" of them\\nhere.\n\
             # TYPE plimsoll_jobs gauge\nplimsoll_jobs{cluster=\"birch\""
        ));
        assert!(text.contains(
            "# TYPE plimsoll_source_busy_seconds counter\n\
             # UNIT plimsoll_source_busy_seconds seconds\n\
             plimsoll_source_busy_seconds_total{cluster=\"maple\"} 1.5\n"
        ));
        assert!(text.ends_with("plimsoll_memory_bytes 17592186044416\n# EOF\n"));
    }

    #[test]
    fn who_asks_for_openmetrics_gets_it() {
        // What Prometheus 2.42 sends.
        let asked = "application/openmetrics-text;version=1.0.0,application/openmetrics-text;\
                     version=0.0.1;q=0.75,text/plain;version=0.0.4;q=0.5,*/*;q=0.1";
        assert_eq!(MetricsText::accepted(asked), OPEN_METRICS);
        assert_eq!(MetricsText::accepted("*/*"), PROMETHEUS);
        assert_eq!(MetricsText::accepted(""), PROMETHEUS);
    }

    #[test]
    fn what_is_no_number_has_a_word() {
        for (value, shown) in [
            (f64::NAN, "NaN"),
            (f64::INFINITY, "+Inf"),
            (f64::NEG_INFINITY, "-Inf"),
            (0.25, "0.25"),
            (-3.0, "-3"),
            (1e21, "1000000000000000000000"),
        ] {
            assert_eq!(number(value), shown);
        }
    }
}
