//! GPUs over time, a cell for each bucket: what the GPU did for longest in it.

use std::cmp::{Ordering, Reverse};
use std::collections::{BTreeMap, BTreeSet};

use report::{Category, Cell, Cells, Columns, Grid, GridRow, HIGHEST_LEVEL, Kind};

use super::seen::{Doing, Gpu, Seen, State, spread};
use super::{Coloring, GroupBy, Rows};

/// The grid of what was seen. Time of which nothing is known is in the last category.
pub(super) fn grid(
    seen: &Seen,
    edges: &[jiff::Timestamp],
    coloring: Coloring,
    rows: Rows,
    group_by: GroupBy,
) -> Grid {
    let moments: Vec<i64> = edges.iter().map(|edge| edge.as_microsecond()).collect();
    let (mut categories, category_of) = categories(seen, &moments, coloring);
    let grouped = rows_of(seen, rows, group_by);
    let of_gpus = seen.of_gpus();
    let (columns, count) = (moments.len().saturating_sub(1), categories.len());
    let unobserved = count - 1;
    let lengths: Vec<i64> = moments.windows(2).map(|pair| pair[1] - pair[0]).collect();

    let mut totals = vec![0i64; count];
    let mut held = vec![0i64; columns * count];
    let mut longest = Vec::new();
    let mut parts = Vec::new();
    for (_, gpus) in &grouped {
        held.fill(0);
        for span in gpus.iter().flat_map(|gpu| of_gpus[*gpu]) {
            let category = category_of[span.doing as usize];
            spread(span, &moments, |bucket, microseconds| {
                held[bucket * count + category] += microseconds;
            });
        }
        for (bucket, length) in lengths.iter().enumerate() {
            let cell = &mut held[bucket * count..][..count];
            let whole = *length * gpus.len() as i64;
            cell[unobserved] += whole - cell.iter().sum::<i64>();
            for (total, held) in totals.iter_mut().zip(cell.iter()) {
                *total += held;
            }
            let part = |held: i64| (held as f64 / whole as f64) as f32;
            if rows == Rows::Gpu {
                let of_longest =
                    cell.iter().enumerate().max_by_key(|(place, held)| (**held, Reverse(*place)));
                let (category, held) =
                    of_longest.expect("there is always the category of what is not known");
                longest.push(Cell { category: category as u16, share: part(*held) });
            } else {
                parts.extend(cell.iter().map(|held| part(*held)));
            }
        }
    }
    let whole: i64 = totals.iter().sum();
    for (category, total) in categories.iter_mut().zip(&totals) {
        category.percent = (whole > 0).then(|| *total as f64 / whole as f64 * 100.0);
    }
    Grid {
        columns: Columns::Times(edges.to_vec()),
        rows: grouped.into_iter().map(|(row, _)| row).collect(),
        categories,
        cells: if rows == Rows::Gpu { Cells::Longest(longest) } else { Cells::Parts(parts) },
    }
}

/// How many users have a colour of their own.
const MOST_USERS: usize = 8;

/// The legend, and the place in it of each thing that GPUs do. The last is what is not known.
fn categories(seen: &Seen, edges: &[i64], coloring: Coloring) -> (Vec<Category>, Vec<usize>) {
    let category = |name: String, kind| Category { name, kind, percent: None };
    let of_state = |state: State| category(state.name().to_owned(), state.kind());
    let doings = seen.doings.list();
    // What pictures of users and of measured use show where nobody holds the GPU.
    let unheld = || State::OUT_OF_SERVICE.into_iter().chain([State::Unobserved]);
    let mut others = vec![category("idle".to_owned(), Kind::Idle)];
    others.extend(unheld().map(of_state));
    let other =
        |state: State| unheld().position(|unheld| unheld == state).map_or(0, |place| place + 1);
    match coloring {
        Coloring::State => {
            let place = |doing: &Doing| State::ALL.iter().position(|state| *state == doing.state);
            let places = doings.iter().map(|doing| place(doing).unwrap_or(State::ALL.len() - 1));
            (State::ALL.map(of_state).into(), places.collect())
        }
        Coloring::User => {
            let users = users_by_time(seen, edges);
            let named = users.len().min(MOST_USERS);
            let mut list: Vec<Category> = users[..named]
                .iter()
                .zip(0u8..)
                .map(|(user, place)| {
                    category(seen.users.list()[*user as usize].clone(), Kind::Ranked(place))
                })
                .collect();
            let rest = users.len() - named;
            if rest > 0 {
                let plural = if rest == 1 { "" } else { "s" };
                list.push(category(format!("{rest} other user{plural}"), Kind::Rest));
            }
            let unnamed = list.len();
            list.push(category("in use, user unknown".to_owned(), Kind::Unmeasured));
            let places = doings.iter().map(|doing| match doing.user {
                Some(user) if doing.state.is_busy() => {
                    let place = users.iter().position(|known| *known == user);
                    place.unwrap_or(named).min(named)
                }
                _ if doing.state.is_busy() => unnamed,
                _ => unnamed + 1 + other(doing.state),
            });
            let places = places.collect();
            list.extend(others);
            (list, places)
        }
        Coloring::Utilization => {
            let levels = usize::from(HIGHEST_LEVEL) + 1;
            let step = 100 / levels;
            let mut list: Vec<Category> = (0..=HIGHEST_LEVEL)
                .map(|level| {
                    let from = usize::from(level) * step;
                    category(format!("{from} to {} % used", from + step), Kind::Level(level))
                })
                .collect();
            list.push(category("in use, not measured".to_owned(), Kind::Unmeasured));
            let places = doings.iter().map(|doing| match doing.use_percent {
                Some(percent) if doing.state.is_busy() => {
                    (usize::from(percent) / step).min(levels - 1)
                }
                _ if doing.state.is_busy() => levels,
                _ => levels + 1 + other(doing.state),
            });
            let places = places.collect();
            list.extend(others);
            (list, places)
        }
    }
}

/// Who held GPUs within the picture, who held most first; of equals the first by name.
pub(super) fn users_by_time(seen: &Seen, edges: &[i64]) -> Vec<u32> {
    let (Some(&start), Some(&end)) = (edges.first(), edges.last()) else { return Vec::new() };
    let mut held = vec![0i64; seen.users.list().len()];
    for span in &seen.spans {
        let doing = &seen.doings.list()[span.doing as usize];
        if let Some(user) = doing.user.filter(|_| doing.state.is_busy()) {
            held[user as usize] += (span.end.min(end) - span.start.max(start)).max(0);
        }
    }
    let mut users: Vec<u32> =
        (0u32..).take(held.len()).filter(|user| held[*user as usize] > 0).collect();
    users.sort_by_key(|user| (Reverse(held[*user as usize]), &seen.users.list()[*user as usize]));
    users
}

/// The rows in their order, each with the GPUs that it shows.
fn rows_of(seen: &Seen, rows: Rows, group_by: GroupBy) -> Vec<(GridRow, Vec<usize>)> {
    let gpus = &seen.gpus;
    let has_clusters = gpus.iter().any(|gpu| gpu.cluster != gpus[0].cluster);
    let clusters: BTreeSet<&str> = gpus.iter().map(|gpu| gpu.cluster.as_str()).collect();
    let domains: BTreeMap<&str, &str> =
        clusters.into_iter().map(|cluster| (cluster, common_domain(gpus, cluster))).collect();
    let machine = |gpu: &Gpu| {
        let domain = domains[gpu.cluster.as_str()];
        let host = gpu.machine.strip_suffix(domain).unwrap_or(&gpu.machine);
        if has_clusters { format!("{} {host}", gpu.cluster) } else { host.to_owned() }
    };
    let by_machine = |one: &Gpu, other: &Gpu| {
        one.cluster.cmp(&other.cluster).then_with(|| natural(&one.machine, &other.machine))
    };
    let by_device = |one: &Gpu, other: &Gpu| natural(&one.device, &other.device);
    let mut places: Vec<usize> = (0..gpus.len()).collect();
    places.sort_by(|one, other| {
        let (one, other) = (&gpus[*one], &gpus[*other]);
        let order = match (rows, group_by) {
            (Rows::Device, _) => by_device(one, other),
            (_, GroupBy::Device) => by_device(one, other).then_with(|| by_machine(one, other)),
            _ => by_machine(one, other),
        };
        order.then_with(|| by_id(&one.id, &other.id))
    });
    let is_same = |one: &usize, other: &usize| {
        let (one, other) = (&gpus[*one], &gpus[*other]);
        match rows {
            Rows::Gpu => false,
            Rows::Machine => {
                by_machine(one, other).is_eq()
                    && (group_by == GroupBy::Machine || one.device == other.device)
            }
            Rows::Device => one.device == other.device,
        }
    };
    let shared = |places: &[usize], part: fn(&Gpu) -> &String| {
        let first = part(&gpus[places[0]]);
        places.iter().all(|place| part(&gpus[*place]) == first).then(|| first.clone())
    };
    let row = |places: &[usize]| {
        let gpu = &gpus[places[0]];
        let (group, label) = match (rows, group_by) {
            (Rows::Gpu, GroupBy::Machine) => (machine(gpu), gpu.id.clone()),
            (Rows::Gpu, GroupBy::Device) => {
                (gpu.device.clone(), format!("{} {}", machine(gpu), gpu.id))
            }
            (Rows::Machine, GroupBy::Machine) => (String::new(), machine(gpu)),
            (Rows::Machine, GroupBy::Device) => (gpu.device.clone(), machine(gpu)),
            (Rows::Device, _) => (String::new(), gpu.device.clone()),
        };
        let class = places.iter().all(|place| gpus[*place].classes == gpu.classes);
        GridRow {
            group,
            label,
            cluster: shared(places, |gpu| &gpu.cluster),
            machine: shared(places, |gpu| &gpu.machine),
            gpu_id: (rows == Rows::Gpu).then(|| gpu.id.clone()),
            device: shared(places, |gpu| &gpu.device),
            class: class.then(|| gpu.classes.join(", ")),
            gpus: u32::try_from(places.len()).ok(),
        }
    };
    places.chunk_by(is_same).map(|places| (row(places), places.to_vec())).collect()
}

/// What all machines of a cluster end with, from the first dot on; labels do without it.
fn common_domain<'a>(gpus: &'a [Gpu], cluster: &str) -> &'a str {
    let mut domains = gpus.iter().filter(|gpu| gpu.cluster == cluster).map(domain);
    let common = domains.next().unwrap_or_default();
    if domains.all(|domain| domain == common) { common } else { "" }
}

fn domain(gpu: &Gpu) -> &str {
    gpu.machine.find('.').map_or("", |dot| &gpu.machine[dot..])
}

/// Orders GPU ids: short ones first, so that `gpu:9` comes before `gpu:10`; ids of one length are
/// numbers of hexadecimal digits, or as good as that.
pub(super) fn by_id(one: &str, other: &str) -> Ordering {
    one.len().cmp(&other.len()).then_with(|| one.cmp(other))
}

/// The order in which people count: `node2` before `node10`.
pub(super) fn natural(one: &str, other: &str) -> Ordering {
    let (mut left, mut right) = (one, other);
    loop {
        let digits =
            |text: &str| text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        let (left_digits, right_digits) = (digits(left), digits(right));
        if left_digits > 0 && right_digits > 0 {
            let number = |text: &str| text.trim_start_matches('0').to_owned();
            let (a, b) = (number(&left[..left_digits]), number(&right[..right_digits]));
            let order = a.len().cmp(&b.len()).then_with(|| a.cmp(&b));
            if order.is_ne() {
                return order;
            }
            (left, right) = (&left[left_digits..], &right[right_digits..]);
            continue;
        }
        match (left.chars().next(), right.chars().next()) {
            (Some(a), Some(b)) if a == b => {
                (left, right) = (&left[a.len_utf8()..], &right[b.len_utf8()..]);
            }
            (None, None) => return one.cmp(other), // such as node01 and node1
            (a, b) => return a.cmp(&b),
        }
    }
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;
    use proptest::prelude::*;

    use super::super::seen::tests::seen;
    use super::*;

    fn hours(count: i64) -> Vec<Timestamp> {
        (0..=count).map(|hour| Timestamp::from_second(hour * 3600).unwrap()).collect()
    }

    /// The categories of a row's cells by their names' first letters and those of their second
    /// words, such as `bb` for busy backfill, and the shares in percent.
    fn check(spans: &str, columns: i64, coloring: Coloring, expected: &[&str]) {
        let grid = grid(&seen(spans), &hours(columns), coloring, Rows::Gpu, GroupBy::Machine);
        let Cells::Longest(cells) = &grid.cells else { panic!("cells of a GPU have one category") };
        let shown: Vec<String> = grid
            .rows
            .iter()
            .zip(cells.chunks(columns as usize))
            .map(|(row, cells)| {
                let cells = cells.iter().map(|cell| {
                    let name = &grid.categories[usize::from(cell.category)].name;
                    format!("{name} {:.0}", cell.share * 100.0)
                });
                format!("{}: {}", row.label, cells.collect::<Vec<_>>().join(", "))
            })
            .collect();
        assert_eq!(shown, expected);
    }

    #[test]
    fn a_cell_shows_what_held_longest() {
        check(
            "a1 0 0.4 claimed ann\n a1 0.4 1 idle -\n a1 1 2 backfill bob\n b1 0 2 claimed ann",
            2,
            Coloring::State,
            &[
                "a1: idle open capacity 60, busy backfill 100",
                "b1: busy prioritized 100, busy prioritized 100",
            ],
        );
    }

    #[test]
    fn times_of_one_state_in_a_cell_add_up() {
        // Twice 0.3 claimed against 0.4 idle.
        check(
            "a1 0 0.3 claimed ann\n a1 0.3 0.7 idle -\n a1 0.7 1 claimed bob",
            1,
            Coloring::State,
            &["a1: busy open capacity 60"],
        );
    }

    #[test]
    fn of_two_that_held_equally_long_the_first_of_the_legend_is_shown() {
        check(
            "a1 0 0.5 idle -\n a1 0.5 1 claimed ann",
            1,
            Coloring::State,
            &["a1: busy open capacity 50"],
        );
        check(
            "a1 0 0.5 drained -\n a1 0.5 1 idle -",
            1,
            Coloring::State,
            &["a1: idle open capacity 50"],
        );
        check("a1 0 0.5 drained -", 1, Coloring::State, &["a1: drained 50"]);
    }

    #[test]
    fn what_is_not_known_counts_as_any_state() {
        check(
            "a1 0 0.4 claimed ann\n a1 1.5 2 idle -",
            3,
            Coloring::State,
            &["a1: N/A 60, idle open capacity 50, N/A 100"],
        );
    }

    #[test]
    fn a_backfill_job_is_seen_though_the_owners_slot_is_idle() {
        check("b1 0 1 backfill ann", 1, Coloring::State, &["b1: busy backfill 100"]);
    }

    #[test]
    fn shares_of_the_legend_are_of_all_shown_time() {
        // Of four GPU hours: one claimed, half an hour of backfill, the rest unknown.
        let grid = grid(
            &seen("a1 0 1 claimed ann\n a2 1.5 2 backfill ann"),
            &hours(2),
            Coloring::State,
            Rows::Gpu,
            GroupBy::Machine,
        );
        let shares: Vec<f64> = grid.categories.iter().map(|c| c.percent.unwrap()).collect();
        let mut expected = [0.0; 12];
        (expected[1], expected[2], expected[11]) = (25.0, 12.5, 62.5);
        assert_eq!(shares, expected);
    }

    #[test]
    fn a_row_of_several_gpus_has_every_states_part() {
        let spans = "a1 0 1 claimed ann\n a2 0 0.5 idle -\n b1 0 1 drained -";
        let grid = grid(&seen(spans), &hours(1), Coloring::State, Rows::Machine, GroupBy::Machine);
        let labels: Vec<(&str, Option<u32>)> =
            grid.rows.iter().map(|row| (row.label.as_str(), row.gpus)).collect();
        assert_eq!(labels, [("a", Some(2)), ("b", Some(1))]);
        // Half of the machine is busy, a quarter idle, a quarter unknown.
        let mut expected = [0.0; 24];
        (expected[1], expected[4], expected[11], expected[12 + 6]) = (0.5, 0.25, 0.25, 1.0);
        assert_eq!(grid.cells, Cells::Parts(expected.into()));
    }

    #[test]
    fn rows_of_devices_stand_for_all_their_gpus() {
        let spans = "a1 0 1 claimed ann\n b1 0 1 idle -\n b2 0 1 idle -";
        let grid = grid(&seen(spans), &hours(1), Coloring::State, Rows::Device, GroupBy::Device);
        let rows: Vec<_> = grid
            .rows
            .iter()
            .map(|row| (row.label.as_str(), row.gpus, row.machine.as_deref()))
            .collect();
        assert_eq!(rows, [("A100", Some(1), Some("a")), ("H200", Some(2), Some("b"))]);
    }

    #[test]
    fn the_users_who_held_most_have_names_and_the_others_are_one() {
        let mut spans = String::new();
        for user in 0..10 {
            // user0 holds ten hours, user9 one.
            spans += &format!("a1 {} {} claimed user{user}\n", user * 10, user * 10 + 10 - user);
        }
        let grid = grid(&seen(&spans), &hours(100), Coloring::User, Rows::Gpu, GroupBy::Machine);
        let names: Vec<&str> = grid.categories.iter().map(|c| c.name.as_str()).collect();
        assert_eq!(
            names[..10],
            [
                "user0",
                "user1",
                "user2",
                "user3",
                "user4",
                "user5",
                "user6",
                "user7",
                "2 other users",
                "in use, user unknown"
            ]
        );
        // user8 and user9: two hours and one of a hundred.
        assert_eq!(grid.categories[8].percent, Some(3.0));
        assert_eq!(grid.categories.last().unwrap().name, "N/A");
    }

    #[test]
    fn measured_use_is_shown_in_steps_and_what_was_not_measured_apart() {
        check(
            "a1 0 1 claimed@19 ann\n a1 1 2 claimed@20 ann\n a1 2 3 backfill@100 ann\n a1 3 4 claimed ann\n a1 4 5 idle@0 -",
            5,
            Coloring::Utilization,
            &[
                "a1: 0 to 20 % used 100, 20 to 40 % used 100, 80 to 100 % used 100, in use, not measured 100, idle 100",
            ],
        );
    }

    #[test]
    fn names_are_sorted_as_people_count() {
        let mut names = ["gpu10", "gpu9", "gpu2-b", "gpu2-a", "gpu", "a", "gpu010", "GPU1"];
        names.sort_by(|one, other| natural(one, other));
        assert_eq!(names, ["GPU1", "a", "gpu", "gpu2-a", "gpu2-b", "gpu9", "gpu010", "gpu10"]);
    }

    #[test]
    fn ids_are_sorted_by_their_digits() {
        let mut ids = ["GPU-9eb3", "GPU-37c2", "GPU-f06f"];
        ids.sort_by(|one, other| by_id(one, other));
        assert_eq!(ids, ["GPU-37c2", "GPU-9eb3", "GPU-f06f"]);
        assert!(by_id("gpu:9", "gpu:10").is_lt());
    }

    /// Ids as HTCondor, SLURM, gpureports and MIG write them, and any others.
    fn any_id() -> impl Strategy<Value = String> {
        prop_oneof![
            "GPU-[0-9a-f]{4,8}",
            "GPU-[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}",
            "MIG-(GPU-)?[0-9a-f]{8}(-[0-9a-f]{4}-[0-9a-f]{12}|/[0-9]{1,2}/[0-9])",
            "(gpu:|CUDA|GPU-)?0{0,2}[0-9]{1,3}",
            "GPU-abc|0|",
            "[-a-f0-9é]{0,6}",
        ]
    }

    proptest! {
        /// `sort_by` panics, or leaves rows in any order, if this does not hold.
        #[test]
        fn ids_and_machines_of_every_shape_have_one_order(
            ids in prop::collection::vec(any_id(), 3..24),
        ) {
            for order in [by_id as fn(&str, &str) -> Ordering, natural] {
                let mut sorted: Vec<&str> = ids.iter().map(String::as_str).collect();
                sorted.sort_by(|one, other| order(one, other));
                for (place, one) in sorted.iter().enumerate() {
                    for other in &sorted[place..] {
                        prop_assert!(order(one, other).is_le(), "{one:?} {other:?}");
                        prop_assert_eq!(order(one, other).is_eq(), one == other);
                        prop_assert_eq!(order(one, other), order(other, one).reverse());
                    }
                }
            }
        }
    }

    /// The three ids of which each was before the next, and the last before the first.
    #[test]
    fn a_heatmap_of_ids_of_different_lengths_is_drawn() {
        let spans: String = (0..40)
            .map(|number| match number % 3 {
                0 => format!("a-10{number:02} 0 1 idle -\n"),
                1 => format!("a-9f{number:02} 0 1 idle -\n"),
                _ => format!("a-9{number:02} 0 1 idle -\n"),
            })
            .collect();
        let grid = grid(&seen(&spans), &hours(1), Coloring::State, Rows::Gpu, GroupBy::Machine);
        let labels: Vec<usize> = grid.rows.iter().map(|row| row.label.len()).collect();
        assert_eq!(labels.len(), 40);
        assert!(labels.is_sorted(), "{labels:?}");
    }

    #[test]
    fn labels_do_without_the_domain_that_all_machines_share() {
        let labels = |machines: [&str; 2]| {
            let mut seen = seen("a1 0 1 idle -\n b1 0 1 idle -");
            for (gpu, machine) in seen.gpus.iter_mut().zip(machines) {
                gpu.machine = machine.to_owned();
            }
            let grid = grid(&seen, &hours(1), Coloring::State, Rows::Gpu, GroupBy::Machine);
            grid.rows.into_iter().map(|row| row.group).collect::<Vec<_>>()
        };
        assert_eq!(labels(["a.example.org", "b.example.org"]), ["a", "b"]);
        assert_eq!(labels(["a.example.org", "b.example.com"]), ["a.example.org", "b.example.com"]);
        assert_eq!(labels(["a.example.org", "b"]), ["a.example.org", "b"]);
    }

    #[test]
    fn no_gpu_is_no_row() {
        let grid = grid(&Seen::default(), &hours(1), Coloring::State, Rows::Gpu, GroupBy::Machine);
        assert!(grid.rows.is_empty() && grid.categories.iter().all(|c| c.percent.is_none()));
    }
}
