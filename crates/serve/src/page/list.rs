//! Every page, in the order of the navigation.

use std::borrow::Cow;

use query::now::{ATTENTION, CLUSTERS, Look, NODES, QUEUE, SOURCES};
use view::Layout;

use super::{Page, Section, Show};
use crate::about::Span;

/// Every page. Those of one of what a page lists follow it.
pub(crate) static PAGES: &[Page] = &[
    Page {
        path: "/",
        title: "Overview",
        lead: "Each cluster now, the time behind it, and what needs attention.",
        span: Span::Days(7),
        filters: Cow::Borrowed(&[]),
        sections: Cow::Borrowed(&[
            look("Now", &CLUSTERS, 100),
            look("Needs attention", &ATTENTION, 12),
            report("The time behind", "cluster-summary", 100),
            CPU_TREND,
            GPU_TREND,
            report("Who used most", "usage-by-user", 10),
            report("How jobs ended", "states", 20),
        ]),
    },
    Page {
        path: "/jobs",
        title: "Jobs",
        lead: "Attempts that waited, ran or ended in this time.",
        span: Span::Hours(24),
        filters: Cow::Borrowed(&[
            "user",
            "group",
            "account",
            "partition",
            "state",
            "name",
            "node",
            "arrays",
            "sort",
            "rows",
            "page",
        ]),
        sections: Cow::Borrowed(&[report("Jobs", "jobs", 1000)]),
    },
    Page {
        path: "/jobs/{cluster}/{job}",
        title: "Job",
        lead: "",
        span: Span::Days(366),
        filters: Cow::Borrowed(&[]),
        sections: Cow::Borrowed(&[
            Section {
                heading: "Attempts, the last one first",
                show: Show::Report { name: "job", said: &[], top: 6, layout: Layout::Sideways },
            },
            Section { heading: "Its steps", show: Show::Steps },
            report("What it waited for", "job-queue", 100),
            Section {
                heading: "What jobs of this name should ask for next time",
                show: Show::OfJob("rightsizing"),
            },
        ]),
    },
    Page {
        path: "/users",
        title: "Users",
        lead: "Who used how much, how well, and what they held and did not use.",
        span: Span::Days(7),
        filters: Cow::Borrowed(WHOSE),
        sections: Cow::Borrowed(&[
            SCATTER,
            report("", "usage-by-user", 200),
            report("", "wasters", 50),
            report("", "gpu-efficiency", 50),
        ]),
    },
    Page {
        path: "/users/{user}",
        title: "User",
        lead: "",
        span: Span::Days(30),
        filters: Cow::Borrowed(&["account", "partition"]),
        sections: Cow::Borrowed(OF_SOMEBODY),
    },
    Page {
        path: "/groups",
        title: "Groups",
        lead: "Groups of users, as the configuration names them.",
        span: Span::Days(7),
        filters: Cow::Borrowed(WHOSE),
        sections: Cow::Borrowed(&[report("", "usage-by-group", 200)]),
    },
    Page {
        path: "/groups/{group}",
        title: "Group",
        lead: "",
        span: Span::Days(30),
        filters: Cow::Borrowed(&["account", "partition"]),
        sections: Cow::Borrowed(OF_SEVERAL),
    },
    Page {
        path: "/accounts",
        title: "Accounts",
        lead: "What jobs are charged to.",
        span: Span::Days(7),
        filters: Cow::Borrowed(WHOSE),
        sections: Cow::Borrowed(&[report("", "usage-by-account", 200)]),
    },
    Page {
        path: "/accounts/{account}",
        title: "Account",
        lead: "",
        span: Span::Days(30),
        filters: Cow::Borrowed(&["user", "partition"]),
        sections: Cow::Borrowed(OF_SEVERAL),
    },
    Page {
        path: "/allocations",
        title: "Allocations",
        lead: "What was granted, what is left of it, and until when it will last.",
        span: Span::Days(7),
        filters: Cow::Borrowed(&["allocation"]),
        sections: Cow::Borrowed(&[
            Section {
                heading: "",
                show: Show::Report {
                    name: "allocations",
                    said: &[],
                    top: 200,
                    layout: Layout::Brief(&[
                        "allocation",
                        "unit",
                        "granted",
                        "remaining",
                        "used_percent",
                        "elapsed_percent",
                        "unknown_days",
                        "pace_percent",
                        "to_date",
                        "used_up_date",
                        "standing",
                    ]),
                },
            },
            Section {
                heading: "What was used each day",
                show: Show::Drawn {
                    name: "allocation-days",
                    draw: |report, _, title| query::granted_trend(report, title),
                    is_half: false,
                },
            },
        ]),
    },
    Page {
        path: "/nodes",
        title: "Nodes",
        lead: "What each node does now, and how much of the time it was in service.",
        span: Span::Days(7),
        filters: Cow::Borrowed(&["node"]),
        sections: Cow::Borrowed(&[
            look("Now", &NODES, 200),
            report("", "node-events", 50),
            report("", "node-availability", 100),
            report("", "usage-by-node", 100),
        ]),
    },
    Page {
        path: "/nodes/{cluster}/{node}",
        title: "Node",
        lead: "",
        span: Span::Days(7),
        filters: Cow::Borrowed(&[]),
        sections: Cow::Borrowed(&[
            look("Now", &NODES, 10),
            report("In and out of service", "node-events", 100),
            report("How much of the time it was in service", "node-availability", 10),
            report("How much of it was used", "usage-by-node", 10),
            report("Its GPUs at the end of this time", "gpu-at", 32),
            Section { heading: "What its GPUs did", show: Show::Heatmap },
            report("Its jobs", "jobs", 50),
        ]),
    },
    Page {
        path: "/gpus",
        title: "GPUs",
        lead: "What GPUs did, and who held them.",
        span: Span::Hours(24),
        filters: Cow::Borrowed(&[
            "host",
            "host-pattern",
            "gpu",
            "model",
            "class",
            "color",
            "row",
            "group-by",
        ]),
        sections: Cow::Borrowed(&[
            Section { heading: "What GPUs did", show: Show::Heatmap },
            Section { heading: "GPUs in use", show: Show::Chart("gpu-usage") },
            report("Use by class", "gpu-usage", 50),
            told("Use by model", "gpu-usage", &[("by", "device")], 60),
            report("Who held them", "gpu-users", 50),
        ]),
    },
    Page {
        path: "/gpus/{class}",
        title: "Class",
        lead: "",
        span: Span::Days(7),
        filters: Cow::Borrowed(&["color", "row", "group-by"]),
        sections: Cow::Borrowed(&[
            report("In all", "gpu-usage", 10),
            Section { heading: "What its GPUs did", show: Show::Heatmap },
            Section { heading: "Its GPUs in use, in any class", show: Show::Chart("gpu-usage") },
            told("Day by day", "gpu-timeseries", &[("step", "day")], 62),
            told("By model", "gpu-usage", &[("by", "device")], 60),
            told("By machine", "gpu-usage", &[("by", "machine")], 100),
            report("Who held them", "gpu-users", 100),
        ]),
    },
    Page {
        path: "/backfill",
        title: "Backfill",
        lead: "What backfill jobs could have, how long they keep it, and what to expect.",
        span: Span::Days(7),
        filters: Cow::Borrowed(&["device", "runtime", "gpus", "checkpoint-cost"]),
        sections: Cow::Borrowed(&[
            report("What a job of yours can expect", "backfill-advice", 20),
            report("", "backfill-summary", 20),
            report("", "backfill-availability", 20),
            report("", "backfill-survival", 40),
            Section { heading: "", show: Show::Picture },
            report("", "evictions", 20),
            report("", "backfill-users", 30),
        ]),
    },
    Page {
        path: "/queue",
        title: "Queue",
        lead: "Who waits for what, and for how long.",
        span: Span::Days(7),
        filters: Cow::Borrowed(WHOSE),
        sections: Cow::Borrowed(&[
            look("Now", &QUEUE, 100),
            report("", "queue-pressure", 30),
            report("", "wait", 100),
            report("", "queue-reasons", 60),
        ]),
    },
    Page {
        path: "/reports",
        title: "Reports",
        lead: "Every question that can be asked, about any time.",
        span: Span::Days(7),
        filters: Cow::Borrowed(&[]),
        sections: Cow::Borrowed(&[Section { heading: "", show: Show::Reports }]),
    },
    Page {
        path: "/health",
        title: "Health",
        lead: "Whether collecting works, how much of this time is known, and how we fare.",
        span: Span::Days(7),
        filters: Cow::Borrowed(&[]),
        sections: Cow::Borrowed(&[
            look("Sources", &SOURCES, 100),
            report("", "collections", 50),
            report("", "rejects", 50),
            Section { heading: "What is kept", show: Show::Holdings },
            Section { heading: "Our own answers", show: Show::Timings },
        ]),
    },
    Page {
        path: "/definitions",
        title: "Definitions",
        lead: "What the words on these pages mean, made of what the numbers are made of.",
        span: Span::Days(7),
        filters: Cow::Borrowed(&[]),
        sections: Cow::Borrowed(&[Section { heading: "", show: Show::Definitions }]),
    },
];

const WHOSE: &[&str] = &["user", "group", "account", "partition"];

/// Of one user.
const OF_SOMEBODY: &[Section] = &[
    report("In all", "usage-by-user", 1),
    CPU_TREND,
    GPU_TREND,
    report("How well completed jobs used what they held", "efficiency", 3),
    report("What was held and not used", "wasters", 1),
    report("GPUs", "gpu-efficiency", 1),
    report("GPU hours by class, as samples show them", "gpu-users", 20),
    report("What to ask for next time", "rightsizing", 20),
    report("How long jobs waited", "wait", 40),
    report("How time limits fit", "time-limit", 20),
    report("How jobs ended", "states", 20),
    report("The last jobs", "jobs", 20),
];

/// Of a group or an account.
const OF_SEVERAL: &[Section] = &[
    report("By cluster", "cluster-summary", 20),
    CPU_TREND,
    GPU_TREND,
    SCATTER,
    report("By user", "usage-by-user", 100),
    report("What was held and not used", "wasters", 30),
    report("How well completed jobs used what they held", "efficiency", 3),
    report("What to ask for next time", "rightsizing", 20),
    report("How long jobs waited", "wait", 40),
    report("How jobs ended", "states", 20),
];

const fn report(heading: &'static str, name: &'static str, top: usize) -> Section {
    told(heading, name, &[], top)
}

/// A report that is told some options.
const fn told(
    heading: &'static str,
    name: &'static str,
    said: &'static [(&'static str, &'static str)],
    top: usize,
) -> Section {
    Section { heading, show: Show::Report { name, said, top, layout: Layout::Rows } }
}

const fn look(heading: &'static str, look: &'static Look, top: usize) -> Section {
    Section { heading, show: Show::Look(look, top) }
}

/// A day a column.
const CPU_TREND: Section = Section {
    heading: "CPU hours by day",
    show: Show::Drawn {
        name: "daily",
        draw: |report, question, title| query::trend(report, question, "cpu_hours", title),
        is_half: true,
    },
};
const GPU_TREND: Section = Section {
    heading: "GPU hours by day",
    show: Show::Drawn {
        name: "daily",
        draw: |report, question, title| query::trend(report, question, "gpu_hours", title),
        is_half: true,
    },
};

/// Who uses much, and does not use it well.
const SCATTER: Section = Section {
    heading: "How well who used how much",
    show: Show::Drawn {
        name: "usage-by-user",
        draw: |report, _, title| query::scatter(report, "cpu_hours", "cpu_efficiency", title),
        is_half: false,
    },
};
