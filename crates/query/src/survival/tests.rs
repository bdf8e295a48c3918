use super::*;

/// Lifetimes with a Weibull hazard, seen until a random time at the most. What lifelines 0.30 says
/// of the same ones is written below; `tests/backfill.py` compares with it on a whole site.
fn observations(seed: u64, number: usize, scale: f64, shape: f64, limit: f64) -> Vec<Observation> {
    let mut state = seed;
    let mut random = || {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 11) as f64 / (1_u64 << 53) as f64
    };
    (0..number)
        .map(|_| {
            let life = scale * (-(1.0 - random()).ln()).powf(1.0 / shape);
            let seen = limit * random();
            // In quarters, so that there are ties.
            let seconds = (life.min(seen) * 4.0).round_ties_even() / 4.0;
            Observation { seconds, ended: life <= seen }
        })
        .collect()
}

fn groups() -> [Vec<Observation>; 3] {
    [
        observations(1, 40, 10.0, 1.0, 30.0),
        observations(2, 60, 20.0, 1.5, 40.0),
        observations(3, 50, 12.0, 0.7, 30.0),
    ]
}

#[track_caller]
fn near(ours: f64, theirs: f64) {
    assert!((ours - theirs).abs() < 1e-9, "{ours} is not {theirs}");
}

#[test]
fn curves_and_their_bands_equal_those_of_lifelines() {
    let cases = [
        (0, 2.0, 0.8967032967032971, 0.747702841792058, 0.9599385434171649),
        (0, 5.0, 0.6348729395604398, 0.4538249639715, 0.7700716156921061),
        (0, 10.0, 0.39490608442896385, 0.21318964440098917, 0.5720525402391888),
        (0, 18.0, 0.1805284957389549, 0.04074207572555703, 0.4002619845200933),
        (1, 2.0, 0.8969676549865225, 0.784821257131455, 0.9523747342277481),
        (1, 5.0, 0.8049620283018863, 0.6750533212546305, 0.8871098538156256),
        (1, 10.0, 0.6336741681281244, 0.48430176152431476, 0.7504615001531935),
        (1, 18.0, 0.42525985839597485, 0.27527917555972653, 0.567353806586053),
        (2, 2.0, 0.74, 0.5947422941192697, 0.8398940675475373),
        (2, 5.0, 0.6124999999999999, 0.4612539072423458, 0.733046883837952),
        (2, 10.0, 0.4409643665158369, 0.2922523019759627, 0.5798446394199143),
        (2, 18.0, 0.3758219032805429, 0.22842721763910562, 0.5227581198256949),
    ];
    for (group, seconds, survival, lower, upper) in cases {
        let curve = Curve::of(&groups()[group]);
        let step = curve.step_at(seconds).expect("something ended before");
        near(step.survival, survival);
        near(step.lower, lower);
        near(step.upper, upper);
        assert_eq!(curve.survival(seconds), Some(step.survival));
    }
}

#[test]
fn quantiles_equal_those_of_lifelines() {
    for (group, half, quarter) in [(0, 8.0, 3.75), (1, 16.5, 7.25), (2, 8.5, 2.0)] {
        let curve = Curve::of(&groups()[group]);
        assert_eq!(curve.time_until(0.5), Some(half));
        assert_eq!(curve.time_until(0.75), Some(quarter));
    }
}

#[test]
fn the_log_rank_test_equals_that_of_lifelines() {
    let groups = groups();
    let groups: [&[Observation]; 3] = std::array::from_fn(|place| &groups[place][..]);
    let check = |compared: Option<LogRank>, statistic: f64, p_value: f64| {
        let compared = compared.expect("something ended");
        near(compared.statistic, statistic);
        near(compared.p_value, p_value);
    };
    // Of two groups each is the other's others.
    for compared in log_rank(&groups[..2]) {
        check(compared, 6.961477423308942, 0.00832832339404832);
    }
    let three = log_rank(&groups);
    check(three[0], 2.869707750726542, 0.09026125885128838);
    check(three[1], 4.482324963178341, 0.034247102485642);
    check(three[2], 0.6769356412690903, 0.410643926356392);
}

#[test]
fn an_exponential_and_a_weibull_life_lie_in_their_bands() {
    for (scale, shape) in [(10.0, 1.0_f64), (20.0, 1.5), (12.0, 0.7)] {
        let curve = Curve::of(&observations(7, 4000, scale, shape, 40.0));
        for seconds in [1.0_f64, 5.0, 10.0, 20.0] {
            // Observed to the quarter, so ends before an eighth more are seen by then.
            let truth = (-((seconds + 0.125) / scale).powf(shape)).exp();
            let step = curve.step_at(seconds).expect("something ended before");
            assert!(
                step.lower <= truth && truth <= step.upper,
                "{truth} is not in {step:?} of {scale}, {shape}"
            );
        }
    }
}

#[test]
fn what_is_cut_off_does_not_shift_the_median_as_it_shifts_the_naive_one() {
    // The median of an exponential life of mean 10 is 10 ln 2 = 6.93.
    let cut = observations(11, 4000, 10.0, 1.0, 12.0);
    let estimated = Curve::of(&cut).time_until(0.5).expect("half of them end");
    let mut naive: Vec<f64> = cut.iter().map(|seen| seen.seconds).collect();
    naive.sort_unstable_by(f64::total_cmp);
    let naive = naive[naive.len() / 2];
    assert!((estimated - 6.93).abs() < 0.5, "{estimated}");
    assert!(naive < 5.0, "{naive}");
}

/// 2 (ended), 3 (cut), 5 (ended), 8 (cut): 3 of 4 outlast 2; of the 2 that are left half outlast 5.
#[test]
fn a_curve_by_hand() {
    let seen = |seconds: f64, ended| Observation { seconds, ended };
    let curve = Curve::of(&[seen(5.0, true), seen(2.0, true), seen(8.0, false), seen(3.0, false)]);
    let steps: Vec<_> = curve
        .steps
        .iter()
        .map(|step| (step.seconds, step.at_risk, step.ended, step.survival))
        .collect();
    assert_eq!(steps, [(2.0, 4, 1, 0.75), (5.0, 2, 1, 0.375)]);
    assert_eq!(curve.survival(1.0), Some(1.0));
    assert_eq!(curve.survival(8.0), Some(0.375));
    assert_eq!(curve.survival(8.5), None, "nobody was watched for so long");
    assert_eq!(curve.time_until(0.5), Some(5.0));
    assert_eq!(curve.time_until(0.25), None);
    // 2 × 1 + 3 × 0.75 + 1 × 0.375
    assert_eq!(curve.mean_until(6.0), Some(4.625));
    assert_eq!(curve.mean_until(9.0), None);
}

#[test]
fn of_nothing_nothing_is_known() {
    let nothing = Curve::of(&[]);
    assert_eq!((nothing.survival(1.0), nothing.time_until(0.5)), (None, None));
    assert_eq!(log_rank(&[]), []);
    assert_eq!(log_rank(&[&[Observation { seconds: 1.0, ended: true }]]), [None]);
    let none_ended: &[Observation] = &[Observation { seconds: 1.0, ended: false }];
    assert_eq!(log_rank(&[none_ended, none_ended]), [None, None]);
}

/// All of them ended: below the last one nothing is left, and that is known for ever.
#[test]
fn when_all_have_ended_none_is_left() {
    let curve = Curve::of(&[Observation { seconds: 4.0, ended: true }]);
    assert_eq!(curve.survival(4.0), Some(0.0));
    assert_eq!(curve.survival(100.0), Some(0.0));
    assert_eq!(curve.mean_until(100.0), Some(4.0));
}
