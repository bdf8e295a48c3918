//! Texts that are held once and compared by number.

use std::hash::BuildHasher;
use std::ops::Index;

use datafusion::arrow::array::{
    Array, ArrayRef, AsArray, MAX_INLINE_VIEW_LEN, StringViewArray, StringViewBuilder, UInt32Array,
    make_view,
};
use datafusion::arrow::compute::{cast, take};
use datafusion::arrow::datatypes::DataType;
use datafusion::arrow::error::ArrowError;
use hashbrown::{DefaultHashBuilder, HashMap, HashTable};

/// A text, or that it is not known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Name(u32);

impl Name {
    pub(crate) const UNKNOWN: Name = Name(0);

    /// Counted from nothing on, for lists that have something for each name.
    pub(crate) fn number(self) -> usize {
        self.0 as usize
    }
}

/// The texts by their names.
#[derive(Clone, Default)]
pub(crate) struct Names {
    /// One behind the other.
    texts: String,
    /// Where each ends.
    ends: Vec<usize>,
    /// By their views, those that are short enough to be in them: most are, and to find one is one look.
    short: HashMap<u128, Name>,
    long: HashTable<Name>,
    hasher: DefaultHashBuilder,
}

impl Names {
    pub(crate) fn of(&mut self, text: Option<&str>) -> Name {
        match text {
            Some(text) if text.len() <= MAX_INLINE_VIEW_LEN as usize => {
                self.of_short(text, make_view(text.as_bytes(), 0, 0))
            }
            Some(text) => self.of_long(text),
            None => Name::UNKNOWN,
        }
    }

    fn of_short(&mut self, text: &str, view: u128) -> Name {
        let Names { texts, ends, short, .. } = self;
        *short.entry(view).or_insert_with(|| put(texts, ends, text))
    }

    fn of_long(&mut self, text: &str) -> Name {
        let Names { texts, ends, long, hasher, .. } = self;
        let hash = hasher.hash_one(text);
        if let Some(name) = long.find(hash, |known| at(texts, ends, *known) == text) {
            return *name;
        }
        let name = put(texts, ends, text);
        long.insert_unique(hash, name, |known| hasher.hash_one(at(texts, ends, *known)));
        name
    }

    /// How much memory they take.
    pub(crate) fn bytes(&self) -> usize {
        self.texts.capacity()
            + self.ends.capacity() * size_of::<usize>()
            + self.short.capacity() * size_of::<(u128, Name)>()
            + self.long.capacity() * size_of::<Name>()
    }

    /// Adds the texts of others, and tells by what names they are known here.
    pub(crate) fn add(&mut self, others: &Names) -> Renamed {
        let count = others.ends.len();
        let mut renamed = Vec::with_capacity(count + 1);
        renamed.push(Name::UNKNOWN);
        self.short.reserve(others.short.len());
        renamed.extend((1..=count as u32).map(|name| self.of(others.text(Name(name)))));
        Renamed(renamed)
    }

    pub(crate) fn text(&self, name: Name) -> Option<&str> {
        (name != Name::UNKNOWN).then(|| at(&self.texts, &self.ends, name))
    }

    /// All texts, by the numbers of their names, for [`column`].
    pub(crate) fn array(&self) -> StringViewArray {
        let mut array = StringViewBuilder::with_capacity(self.ends.len() + 1);
        array.append_null();
        (1..=self.ends.len() as u32)
            .for_each(|name| array.append_value(at(&self.texts, &self.ends, Name(name))));
        array.finish()
    }
}

/// The names of texts that another had names for.
pub(crate) struct Renamed(Vec<Name>);

impl Index<Name> for Renamed {
    type Output = Name;

    fn index(&self, other: Name) -> &Name {
        &self.0[other.0 as usize]
    }
}

fn at<'a>(texts: &'a str, ends: &[usize], name: Name) -> &'a str {
    let place = name.number() - 1;
    let start = place.checked_sub(1).map_or(0, |before| ends[before]);
    &texts[start..ends[place]]
}

fn put(texts: &mut String, ends: &mut Vec<usize>, text: &str) -> Name {
    texts.push_str(text);
    ends.push(texts.len());
    Name(u32::try_from(ends.len()).expect("a period has fewer than 2³² names"))
}

/// A column of texts, which share the bytes of [`Names::array`].
pub(crate) fn column(array: &StringViewArray, each: impl Iterator<Item = Name>) -> ArrayRef {
    let places = UInt32Array::from_iter_values(each.map(|name| name.0));
    take(array, &places, None).expect("every name has its text")
}

/// Reads a column of texts row after row; most say what one before says.
pub(crate) struct TextColumn {
    column: StringViewArray,
    /// Names by their views, of which two that are equal are of the same text.
    recent: Box<[Option<(u128, Name)>; RECENT]>,
    /// A long text, and its name: its view is its own.
    last: Option<(usize, Name)>,
}

const RECENT: usize = 256;

impl TextColumn {
    /// Words that a term writes itself have another type than those of a table.
    pub(crate) fn new(column: &ArrayRef) -> Result<TextColumn, ArrowError> {
        let column = cast(column, &DataType::Utf8View)?.as_string_view().clone();
        Ok(TextColumn { column, recent: Box::new([None; RECENT]), last: None })
    }

    pub(crate) fn name(&mut self, row: usize, names: &mut Names) -> Name {
        if self.column.is_null(row) {
            return Name::UNKNOWN;
        }
        let view = self.column.views()[row];
        if view as u32 > MAX_INLINE_VIEW_LEN {
            let text = self.column.value(row);
            let name = match self.last {
                Some((last, name)) if self.column.value(last) == text => name,
                _ => names.of_long(text),
            };
            self.last = Some((row, name));
            return name;
        }
        let mixed = (view as u64 ^ (view >> 64) as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let recent = &mut self.recent[(mixed >> 56) as usize];
        match recent {
            Some((known, name)) if *known == view => *name,
            _ => recent.insert((view, names.of_short(self.column.value(row), view))).1,
        }
    }
}
