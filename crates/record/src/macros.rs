//! The `record!` macro: one line a column gives the field, the Arrow field, both conversions,
//! the merge rule and the documentation.

macro_rules! record {
    (
        $meaning:literal
        pub struct $name:ident in $table:literal key [$($key:ident),*] sort [$($sort:ident),*] moment $moment:ident observed $observed:ident $(merge $merge:ident)? {
            $($field:ident: $type:ty $([$rule:ident])?, $unit:literal, $doc:literal;)*
        }
    ) => {
        #[doc = $meaning]
        #[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
        pub struct $name {
            /// The cluster that it was observed on.
            pub cluster: $crate::Text,
            $(#[doc = $doc] pub $field: $type,)*
        }

        impl $crate::Record for $name {
            const TABLE: $crate::Table = $crate::Table {
                name: $table,
                meaning: $meaning,
                key: &[$(stringify!($key)),*],
                sort: &[$(stringify!($sort)),*],
                moment: stringify!($moment),
                observed: stringify!($observed),
                columns: &[$($crate::Column {
                    name: stringify!($field),
                    data_type: <$type as $crate::Cell>::data_type,
                    nullable: <$type as $crate::Cell>::NULLABLE,
                    unit: $unit,
                    meaning: $doc,
                    merge_rule: merge_rule!($($rule)?),
                }),*],
            };

            fn cluster(&self) -> &str {
                &self.cluster
            }

            fn moment(&self) -> jiff::Timestamp {
                self.$moment
            }

            fn observed_time(&self) -> jiff::Timestamp {
                self.$observed
            }

            fn to_batch(rows: &[&Self]) -> arrow::array::RecordBatch {
                let columns = vec![$(<$type as $crate::Cell>::array(rows.iter().map(|row| &row.$field))),*];
                arrow::array::RecordBatch::try_new(std::sync::Arc::new(Self::TABLE.schema()), columns)
                    .expect("the columns are made from the schema's own fields")
            }

            fn from_batch(cluster: &str, batch: &arrow::array::RecordBatch) -> Result<Vec<Self>, String> {
                let rows = batch.num_rows();
                let cluster = $crate::Text::from(cluster);
                $(
                    let mut $field = <$type as $crate::Cell>::read(batch.column_by_name(stringify!($field)), rows)
                        .map_err(|error| format!("column {}: {error}", stringify!($field)))?
                        .into_iter();
                )*
                Ok((0..rows)
                    .map(|_| $name {
                        cluster: cluster.clone(),
                        $($field: $field.next().expect("a column has a cell for each row"),)*
                    })
                    .collect())
            }

            fn compare_key(&self, other: &Self) -> std::cmp::Ordering {
                std::cmp::Ordering::Equal $(.then_with(|| self.$key.cmp(&other.$key)))*
            }

            fn hash_key(&self, hasher: &mut impl std::hash::Hasher) {
                use std::hash::Hash;
                $(self.$key.hash(hasher);)*
            }

            fn says_the_same(&self, other: &Self) -> bool {
                true $(&& (stringify!($field) == stringify!($observed) || self.$field == other.$field))*
            }

            fn hash_content(&self, hasher: &mut impl std::hash::Hasher) {
                $(if stringify!($field) != stringify!($observed) {
                    $crate::Cell::hash_cell(&self.$field, hasher);
                })*
            }

            fn compare_latest(&self, other: &Self) -> std::cmp::Ordering {
                std::cmp::Ordering::Equal
                    $(.then_with(|| compare_latest!([$($rule)?] &self.$field, &other.$field)))*
            }

            $(
                fn merge(&self, other: &Self) -> $crate::MergeOutcome<Self> {
                    $crate::$merge::merge(self, other)
                }

                fn rederive(&self, stored: &Self) -> $crate::MergeOutcome<Self> {
                    $crate::$merge::rederive(self, stored)
                }
            )?

            fn compare_place(&self, other: &Self) -> std::cmp::Ordering {
                std::cmp::Ordering::Equal $(.then_with(|| self.$sort.cmp(&other.$sort)))*
                    .then_with(|| self.compare_key(other))
            }
        }

        kept_columns!([$($merge)?] $name { $($field [$($rule)?])* });
    };
}

/// The merge rule of a column by its mark in `record!`.
macro_rules! merge_rule {
    () => {
        $crate::MergeRule::Latest
    };
    (kept) => {
        $crate::MergeRule::Kept
    };
    (ended) => {
        $crate::MergeRule::Ended
    };
    (largest) => {
        $crate::MergeRule::Measured
    };
    (measured) => {
        $crate::MergeRule::Measured
    };
    (derived) => {
        $crate::MergeRule::Derived
    };
}

/// Orders two cells of a column of the latest observation; those of other columns are equal.
macro_rules! compare_latest {
    ([] $one:expr, $other:expr) => {
        $crate::Cell::compare($one, $other)
    };
    ([$rule:ident] $one:expr, $other:expr) => {
        std::cmp::Ordering::Equal
    };
}

/// Gives a record with a merge rule of its own access to its columns whose values have origins: those that
/// are marked `kept`, `ended` or `largest`.
macro_rules! kept_columns {
    ([] $name:ident { $($columns:tt)* }) => {};
    ([$merge:ident] $name:ident { $($field:ident [$($rule:ident)?])* }) => {
        impl $name {
            /// Every column with its mark, in the order of the bits of `known_columns`.
            pub(crate) const COLUMN_MARKS: &[(&str, Option<$crate::KeptRule>)] =
                &[$((stringify!($field), kept_rule!($($rule)?))),*];

            /// The columns with origins that have a value, a bit each. Values in columns marked `ended` count
            /// only if the attempt has ended.
            pub(crate) fn known_columns(&self, has_ended: bool) -> u64 {
                let (mut known, mut bit) = (0, 1);
                $(known_column!([$($rule)?] self.$field, has_ended, known, bit);)*
                debug_assert_ne!(bit, 0, "there are more columns than bits");
                known
            }

            /// Takes the values of `other` in the columns with origins for which `takes` says so: it is given
            /// the column's name and rule, whether each side has a value, and how the values compare.
            pub(crate) fn merge_kept(
                &mut self,
                other: &Self,
                mut takes: impl FnMut(
                    &'static str,
                    $crate::KeptRule,
                    (bool, bool),
                    std::cmp::Ordering,
                ) -> bool,
            ) {
                $(merge_kept!([$($rule)?] self, other, $field, takes);)*
            }

            /// Orders rows by the columns that are marked `ended`.
            pub(crate) fn compare_ended(&self, other: &Self) -> std::cmp::Ordering {
                std::cmp::Ordering::Equal
                    $(.then_with(|| compare_ended!([$($rule)?] &self.$field, &other.$field)))*
            }
        }
    };
}

/// How a column with origins is merged, by its mark in `record!`.
macro_rules! kept_rule {
    (kept) => {
        Some($crate::KeptRule::Kept)
    };
    (ended) => {
        Some($crate::KeptRule::Ended)
    };
    (largest) => {
        Some($crate::KeptRule::Largest)
    };
    ($($rule:ident)?) => {
        None
    };
}

macro_rules! known_column {
    ([ended] $cell:expr, $has_ended:ident, $known:ident, $bit:ident) => {
        if $has_ended && $cell.is_some() {
            $known |= $bit;
        }
        $bit <<= 1;
    };
    ([kept] $cell:expr, $has_ended:ident, $known:ident, $bit:ident) => {
        if $cell.is_some() {
            $known |= $bit;
        }
        $bit <<= 1;
    };
    ([largest] $($cell:tt)*) => {
        known_column!([kept] $($cell)*);
    };
    ([$($rule:ident)?] $($cell:tt)*) => {};
}

macro_rules! compare_ended {
    ([ended] $one:expr, $other:expr) => {
        $crate::Cell::compare($one, $other)
    };
    ([$($rule:ident)?] $one:expr, $other:expr) => {
        std::cmp::Ordering::Equal
    };
}

macro_rules! merge_kept {
    ([kept] $($cells:tt)*) => {
        merge_kept!(Kept, $($cells)*);
    };
    ([ended] $($cells:tt)*) => {
        merge_kept!(Ended, $($cells)*);
    };
    ([largest] $($cells:tt)*) => {
        merge_kept!(Largest, $($cells)*);
    };
    ([$($rule:ident)?] $($cells:tt)*) => {};
    ($rule:ident, $self:ident, $other:ident, $field:ident, $takes:ident) => {
        let known = ($self.$field.is_some(), $other.$field.is_some());
        let order = $crate::Cell::compare(&$self.$field, &$other.$field);
        if $takes(stringify!($field), $crate::KeptRule::$rule, known, order) {
            $self.$field.clone_from(&$other.$field);
        }
    };
}

/// Makes a record with `start_time`, `end_time`, `last_seen_time` and `samples` a [`Span`](crate::Span).
macro_rules! span {
    ($name:ident, entity $entity:ident, state [$($state:ident),*]) => {
        impl $crate::Span for $name {
            fn start_time(&self) -> jiff::Timestamp {
                self.start_time
            }

            fn end_time(&self) -> jiff::Timestamp {
                self.end_time
            }

            fn set_start_time(&mut self, time: jiff::Timestamp) {
                self.start_time = time;
            }

            fn set_end_time(&mut self, time: jiff::Timestamp) {
                self.end_time = time;
            }

            fn last_seen_time(&self) -> jiff::Timestamp {
                self.last_seen_time
            }

            fn see_again(&mut self, time: jiff::Timestamp) {
                self.last_seen_time = time;
                self.samples += 1;
            }

            fn carry_over(&mut self) {
                self.samples = 0;
            }

            fn entity(&self) -> &str {
                &self.$entity
            }

            fn same_state(&self, other: &Self) -> bool {
                true $(&& self.$state == other.$state)*
            }
        }
    };
}
