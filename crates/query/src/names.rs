//! Texts that are held once and compared by number.

use std::hash::BuildHasher;
use std::ops::Index;
use std::sync::LazyLock;

use datafusion::arrow::array::{
    Array, ArrayRef, AsArray, MAX_INLINE_VIEW_LEN, StringViewArray, StringViewBuilder, UInt32Array,
};
use datafusion::arrow::compute::{cast, take};
use datafusion::arrow::datatypes::DataType;
use datafusion::arrow::error::ArrowError;
use hashbrown::{DefaultHashBuilder, HashTable};

/// One for all, so that names learn from one another without a look at the texts.
static HASHER: LazyLock<DefaultHashBuilder> = LazyLock::new(DefaultHashBuilder::default);

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
    /// By [`HASHER`], of each.
    hashes: Vec<u64>,
    places: HashTable<u32>,
}

impl Names {
    pub(crate) fn of(&mut self, text: Option<&str>) -> Name {
        let Some(text) = text else { return Name::UNKNOWN };
        self.of_hashed(text, HASHER.hash_one(text))
    }

    fn of_hashed(&mut self, text: &str, hash: u64) -> Name {
        let Names { texts, ends, hashes, places } = self;
        let is_known = |place: &u32| {
            let place = *place as usize;
            hashes[place] == hash && at(texts, ends, place) == text
        };
        if let Some(place) = places.find(hash, is_known) {
            return Name(place + 1);
        }
        let place = u32::try_from(ends.len()).expect("a period has fewer than 2³² names");
        places.insert_unique(hash, place, |place| hashes[*place as usize]);
        texts.push_str(text);
        ends.push(texts.len());
        hashes.push(hash);
        Name(place + 1)
    }

    /// Adds the texts of others, and tells by what names they are known here.
    pub(crate) fn add(&mut self, others: &Names) -> Renamed {
        let count = others.ends.len();
        let mut renamed = Vec::with_capacity(count + 1);
        renamed.push(Name::UNKNOWN);
        self.places.reserve(count, |place| self.hashes[*place as usize]);
        renamed.extend((0..count).map(|place| {
            self.of_hashed(at(&others.texts, &others.ends, place), others.hashes[place])
        }));
        Renamed(renamed)
    }

    pub(crate) fn text(&self, name: Name) -> Option<&str> {
        Some(at(&self.texts, &self.ends, name.0.checked_sub(1)? as usize))
    }

    /// All texts, by the numbers of their names, for [`column`].
    pub(crate) fn array(&self) -> StringViewArray {
        let mut array = StringViewBuilder::with_capacity(self.ends.len() + 1);
        array.append_null();
        (0..self.ends.len())
            .for_each(|place| array.append_value(at(&self.texts, &self.ends, place)));
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

fn at<'a>(texts: &'a str, ends: &[usize], place: usize) -> &'a str {
    let start = place.checked_sub(1).map_or(0, |before| ends[before]);
    &texts[start..ends[place]]
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
                _ => names.of(Some(text)),
            };
            self.last = Some((row, name));
            return name;
        }
        let mixed = (view as u64 ^ (view >> 64) as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let recent = &mut self.recent[(mixed >> 56) as usize];
        match recent {
            Some((known, name)) if *known == view => *name,
            _ => recent.insert((view, names.of(Some(self.column.value(row))))).1,
        }
    }
}
