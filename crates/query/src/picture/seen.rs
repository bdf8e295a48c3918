//! What GPUs did, as the pictures need it: a list of spans that is passed over once.

use std::borrow::Borrow;
use std::collections::HashMap;
use std::hash::Hash;

use report::Kind;

use crate::gpu_history::GpuHistory;
use crate::names::Name;

/// What is known of some GPUs in a period.
#[derive(Debug, Default)]
pub(crate) struct Seen {
    pub(super) gpus: Vec<Gpu>,
    /// By GPU, and then by time; they do not overlap.
    pub(super) spans: Vec<Span>,
    /// What spans name by its place.
    pub(super) doings: Names<Doing>,
    pub(super) users: Names<String>,
    pub(super) classes: Names<String>,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Gpu {
    pub(super) cluster: String,
    pub(super) machine: String,
    pub(super) id: String,
    pub(super) device: String,
    /// All classes that it was in: of its slots, and of its machine.
    pub(super) classes: Vec<String>,
}

/// A GPU that does one thing for a time, in microseconds since 1970.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Span {
    pub(super) gpu: u32,
    pub(super) start: i64,
    pub(super) end: i64,
    pub(super) doing: u32,
}

/// What a GPU does.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Doing {
    pub(super) state: State,
    /// Who holds it; nobody, or unknown if the state says that somebody does.
    pub(super) user: Option<u32>,
    /// The class of the slot by which it is held.
    pub(super) class: Option<u32>,
    /// Whether a backfill job could have it.
    pub(super) is_available: bool,
    /// Its measured use in hundredths; unknown where it was not measured.
    pub(super) use_percent: Option<u8>,
}

/// The states of a GPU, in the order of the legend. Of states that held equally long in a column
/// the first one here is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum State {
    BusyPrioritized,
    BusyOpenCapacity,
    BusyBackfill,
    IdlePrioritized,
    IdleOpenCapacity,
    Draining,
    Drained,
    Down,
    Maintenance,
    Rebooting,
    Prevented,
    Unobserved,
}

impl State {
    pub(super) const ALL: [State; 12] = [
        State::BusyPrioritized,
        State::BusyOpenCapacity,
        State::BusyBackfill,
        State::IdlePrioritized,
        State::IdleOpenCapacity,
        State::Draining,
        State::Drained,
        State::Down,
        State::Maintenance,
        State::Rebooting,
        State::Prevented,
        State::Unobserved,
    ];

    /// The states of a free GPU that takes no jobs.
    pub(super) const OUT_OF_SERVICE: [State; 6] = [
        State::Draining,
        State::Drained,
        State::Down,
        State::Maintenance,
        State::Rebooting,
        State::Prevented,
    ];

    /// What `gpu_time` says of a GPU as one of these. A GPU whose primary slot was not seen is
    /// what its backfill slot shows. What is there and neither used nor usable, such as one that
    /// its owner keeps, is with the prevented ones.
    pub(super) fn of(state: &str, backfill_use: Option<&str>, is_prioritized: bool) -> State {
        let idle = match is_prioritized {
            true => State::IdlePrioritized,
            false => State::IdleOpenCapacity,
        };
        match (state, backfill_use) {
            ("claimed", _) if is_prioritized => State::BusyPrioritized,
            ("claimed", _) => State::BusyOpenCapacity,
            ("backfill", _) => State::BusyBackfill,
            ("idle", _) | ("unknown", Some("available")) => idle,
            ("draining", _) | ("unknown", Some("draining")) => State::Draining,
            ("drained", _) | ("unknown", Some("drained")) => State::Drained,
            ("down", _) | ("unknown", Some("down")) => State::Down,
            ("maintenance", _) | ("unknown", Some("maintenance")) => State::Maintenance,
            ("rebooting", _) | ("unknown", Some("rebooting")) => State::Rebooting,
            ("prevented" | "other", _) | ("unknown", Some("prevented" | "other")) => {
                State::Prevented
            }
            _ => State::Unobserved,
        }
    }

    pub(super) fn name(self) -> &'static str {
        match self {
            State::BusyPrioritized => "busy prioritized",
            State::BusyOpenCapacity => "busy open capacity",
            State::BusyBackfill => "busy backfill",
            State::IdlePrioritized => "idle prioritized",
            State::IdleOpenCapacity => "idle open capacity",
            State::Draining => "draining",
            State::Drained => "drained",
            State::Down => "down",
            State::Maintenance => "maintenance",
            State::Rebooting => "rebooting",
            State::Prevented => "prevented or unusable",
            State::Unobserved => "N/A",
        }
    }

    pub(super) fn kind(self) -> Kind {
        match self {
            State::BusyPrioritized => Kind::BusyPrioritized,
            State::BusyOpenCapacity => Kind::BusyOpenCapacity,
            State::BusyBackfill => Kind::BusyBackfill,
            State::IdlePrioritized => Kind::IdlePrioritized,
            State::IdleOpenCapacity => Kind::IdleOpenCapacity,
            State::Draining => Kind::Draining,
            State::Drained => Kind::Drained,
            State::Down => Kind::Down,
            State::Maintenance => Kind::Maintenance,
            State::Rebooting => Kind::Rebooting,
            State::Prevented => Kind::Prevented,
            State::Unobserved => Kind::Unobserved,
        }
    }

    pub(super) fn is_busy(self) -> bool {
        matches!(self, State::BusyPrioritized | State::BusyOpenCapacity | State::BusyBackfill)
    }

    pub(super) fn is_idle(self) -> bool {
        matches!(self, State::IdlePrioritized | State::IdleOpenCapacity)
    }
}

impl Seen {
    /// What is known of GPUs, of which some classes of slots have owners who come first.
    pub(super) fn of(history: &GpuHistory, prioritized: &[String]) -> Seen {
        let text = |name: Name| history.names.text(name);
        let mut seen = Seen::default();
        let mut places = vec![None; history.gpus.len()];
        let mut doings: HashMap<(u32, Option<Name>, Option<u8>), u32> = HashMap::new();
        for span in &history.spans {
            let kind = &history.kinds[span.kind as usize];
            let gpu = *places[span.gpu as usize].get_or_insert_with(|| {
                let gpu = &history.gpus[span.gpu as usize];
                let name = |name: Name| text(name).unwrap_or_default().to_owned();
                seen.gpus.push(Gpu {
                    cluster: name(gpu.cluster),
                    machine: name(gpu.machine),
                    id: name(gpu.gpu_id),
                    device: text(kind.device)
                        .or(text(kind.device_name))
                        .unwrap_or("unknown")
                        .to_owned(),
                    classes: Vec::new(),
                });
                (seen.gpus.len() - 1) as u32
            });
            let classes = &mut seen.gpus[gpu as usize].classes;
            for class in [kind.primary_class, kind.backfill_class, kind.owner_class] {
                if let Some(class) = text(class)
                    && !classes.iter().any(|known| known == class)
                {
                    classes.push(class.to_owned());
                }
            }
            let is_prioritized = text(kind.primary_class)
                .is_some_and(|class| prioritized.iter().any(|one| one == class));
            let backfill_use = text(kind.backfill_use);
            let state =
                State::of(text(kind.state).unwrap_or_default(), backfill_use, is_prioritized);
            let (who, class) = match state {
                State::BusyBackfill => (span.backfill, kind.backfill_class),
                _ => (span.primary, kind.primary_class),
            };
            let user = state.is_busy().then_some(who.user);
            let key = (span.kind, user, span.use_percent);
            let doing = *doings.entry(key).or_insert_with(|| {
                let class = text(class).filter(|_| state.is_busy());
                seen.doings.place(&Doing {
                    state,
                    user: user.and_then(text).map(|user| seen.users.place(user)),
                    class: class.map(|class| seen.classes.place(class)),
                    is_available: backfill_use == Some("available"),
                    use_percent: span.use_percent,
                })
            });
            seen.spans.push(Span { gpu, start: span.start, end: span.end, doing });
        }
        for gpu in &mut seen.gpus {
            gpu.classes.sort();
        }
        seen.sort();
        seen
    }

    /// Puts spans in their order, after which [`Seen::of_gpus`] finds those of each GPU.
    pub(super) fn sort(&mut self) {
        // Files are in this order, so most often there is nothing to do.
        if !self.spans.is_sorted() {
            self.spans.sort_unstable();
        }
    }

    /// The spans of each GPU, by its place.
    pub(super) fn of_gpus(&self) -> Vec<&[Span]> {
        let mut of_gpus: Vec<&[Span]> = vec![&[]; self.gpus.len()];
        for spans in self.spans.chunk_by(|one, other| one.gpu == other.gpu) {
            of_gpus[spans[0].gpu as usize] = spans;
        }
        of_gpus
    }

    /// Keeps only some GPUs.
    pub(super) fn retain(&mut self, is_wanted: impl Fn(&Gpu) -> bool) {
        let mut places = Vec::with_capacity(self.gpus.len());
        let mut kept = 0;
        for gpu in &self.gpus {
            places.push(is_wanted(gpu).then_some(kept));
            kept += u32::from(is_wanted(gpu));
        }
        let mut wanted = places.iter().map(Option::is_some);
        self.gpus.retain(|_| wanted.next().unwrap_or(false));
        self.spans.retain_mut(|span| match places[span.gpu as usize] {
            Some(place) => {
                span.gpu = place;
                true
            }
            None => false,
        });
    }
}

/// Values by their place in a list, each once.
#[derive(Debug)]
pub(super) struct Names<T> {
    list: Vec<T>,
    places: HashMap<T, u32>,
}

impl<T> Default for Names<T> {
    fn default() -> Names<T> {
        Names { list: Vec::new(), places: HashMap::new() }
    }
}

impl<T: Clone + Eq + Hash> Names<T> {
    /// The place of a value, which it gets if it has none.
    pub(super) fn place<Q>(&mut self, value: &Q) -> u32
    where
        T: Borrow<Q>,
        Q: ?Sized + Eq + Hash + ToOwned<Owned = T>,
    {
        if let Some(place) = self.places.get(value) {
            return *place;
        }
        let place = u32::try_from(self.list.len()).expect("a lake has fewer than 2³² names");
        self.list.push(value.to_owned());
        self.places.insert(value.to_owned(), place);
        place
    }

    /// Puts other values in the place of these.
    pub(super) fn rename(&mut self, name: impl Fn(&T) -> T) {
        self.list = self.list.iter().map(name).collect();
        self.places.clear();
    }

    pub(super) fn list(&self) -> &[T] {
        &self.list
    }
}

/// Adds a span's time to the buckets that it touches.
pub(super) fn spread(span: &Span, edges: &[i64], mut add: impl FnMut(usize, i64)) {
    let first = edges.partition_point(|edge| *edge <= span.start).saturating_sub(1);
    for (bucket, pair) in edges.windows(2).enumerate().skip(first) {
        if pair[0] >= span.end {
            break;
        }
        let held = pair[1].min(span.end) - pair[0].max(span.start);
        if held > 0 {
            add(bucket, held);
        }
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// Spans written as `gpu start end state user`, with hours for times; the machine of `a1` is
    /// `a`, and `b`s are prioritized.
    pub(in super::super) fn seen(text: &str) -> Seen {
        let mut seen = Seen::default();
        for line in text.lines().map(str::trim).filter(|line| !line.is_empty()) {
            let words: Vec<&str> = line.split_whitespace().collect();
            let [name, start, end, state, user] = words[..] else { panic!("{line}") };
            let gpu = seen.gpus.iter().position(|gpu| gpu.id == name).unwrap_or_else(|| {
                seen.gpus.push(Gpu {
                    cluster: "birch".into(),
                    machine: name[..1].into(),
                    id: name.into(),
                    device: if name.starts_with('a') { "A100" } else { "H200" }.into(),
                    classes: vec!["Shared".into()],
                });
                seen.gpus.len() - 1
            });
            let (state, use_percent) = match state.split_once('@') {
                Some((state, percent)) => (state, percent.parse().ok()),
                None => (state, None),
            };
            let state = State::of(state, None, name.starts_with('b'));
            let user = (user != "-").then(|| seen.users.place(user));
            let class = state.is_busy().then(|| seen.classes.place(state.name()));
            let is_available = state.is_idle();
            let doing = seen.doings.place(&Doing { state, user, class, is_available, use_percent });
            let hour = |text: &str| (text.parse::<f64>().unwrap() * 3_600e6) as i64;
            let (start, end) = (hour(start), hour(end));
            seen.spans.push(Span { gpu: gpu as u32, start, end, doing });
        }
        seen.sort();
        seen
    }

    #[test]
    fn what_gpu_time_says_is_one_of_twelve_states() {
        let cases = [
            ("claimed", None, State::BusyOpenCapacity),
            ("backfill", Some("claimed"), State::BusyBackfill),
            ("idle", Some("available"), State::IdleOpenCapacity),
            ("draining", Some("draining"), State::Draining),
            ("drained", Some("drained"), State::Drained),
            ("down", Some("down"), State::Down),
            ("maintenance", None, State::Maintenance),
            ("rebooting", None, State::Rebooting),
            ("unknown", Some("down"), State::Down),
            ("prevented", Some("prevented"), State::Prevented),
            ("other", None, State::Prevented),
            ("unknown", None, State::Unobserved),
            ("unknown", Some("available"), State::IdleOpenCapacity),
            ("unknown", Some("drained"), State::Drained),
        ];
        for (state, backfill_use, expected) in cases {
            assert_eq!(State::of(state, backfill_use, false), expected, "{state} {backfill_use:?}");
        }
        assert_eq!(State::of("claimed", None, true), State::BusyPrioritized);
        assert_eq!(State::of("idle", None, true), State::IdlePrioritized);
    }

    #[test]
    fn a_span_is_spread_over_the_buckets_that_it_touches() {
        let check = |start, end, expected: &[(usize, i64)]| {
            let mut held = Vec::new();
            let span = Span { gpu: 0, start, end, doing: 0 };
            spread(&span, &[0, 10, 20, 25], |bucket, microseconds| {
                held.push((bucket, microseconds));
            });
            assert_eq!(held, expected);
        };
        check(5, 22, &[(0, 5), (1, 10), (2, 2)]);
        check(10, 20, &[(1, 10)]);
        check(-9, 99, &[(0, 10), (1, 10), (2, 5)]);
        check(25, 30, &[]);
        check(-5, 0, &[]);
    }

    #[test]
    fn gpus_that_are_not_wanted_go_with_their_spans() {
        let mut seen = seen("a1 0 1 idle -\n b1 0 1 idle -\n b2 0 2 claimed ann");
        seen.retain(|gpu| gpu.id != "b1");
        let ids: Vec<&str> = seen.gpus.iter().map(|gpu| gpu.id.as_str()).collect();
        assert_eq!(ids, ["a1", "b2"]);
        let spans: Vec<usize> = seen.of_gpus().iter().map(|spans| spans.len()).collect();
        assert_eq!(spans, [1, 1]);
        assert_eq!(seen.spans[1].gpu, 1);
    }
}
