//! The columns of a table are defined once, in [`columns!`]: name, type and words. Arrow's schema and arrays, JSON and
//! descriptions follow from the definition, so they cannot differ, and a new column is one row.

use std::sync::Arc;

use arrow::array::{
    ArrayRef, BooleanArray, FixedSizeListArray, Float64Array, Int64Array, ListArray, StringArray, StructArray,
    TimestampMicrosecondArray, UInt32Array,
};
use arrow::buffer::{NullBuffer, OffsetBuffer};
use arrow::datatypes::{DataType, Field, Fields, TimeUnit};
use arrow::error::ArrowError;
use chunkmill_text::document::LinkKind;
use chunkmill_text::similarity::{SIGNATURE, Signature};

use super::json;
use super::time::Time;

/// A type that a column may have.
pub(super) trait Value: Sized {
    /// Whether the column may be null.
    const NULLABLE: bool = false;

    /// Returns its type in Arrow.
    fn data_type() -> DataType;

    /// Builds a column.
    fn array<'v>(values: impl Iterator<Item = Option<&'v Self>>) -> Result<ArrayRef, ArrowError>
    where
        Self: 'v;

    /// Appends the value as JSON.
    fn json(&self, out: &mut Vec<u8>);

    /// Returns how many bytes of text it has.
    fn text_bytes(&self) -> usize {
        0
    }
}

/// A row with several columns: of a table, or of a list in a column.
pub(super) trait Columns: Sized {
    /// The names of the columns.
    const NAMES: &'static [&'static str];

    /// Returns the columns as Arrow's fields.
    fn fields() -> Vec<Field>;

    /// Builds the columns of some rows.
    fn arrays(rows: &[&Self]) -> Result<Vec<ArrayRef>, ArrowError>;

    /// Returns a column in words, or `None` if there is no column of this name.
    fn describe(column: &str) -> Option<&'static str>;

    /// Appends the row as a JSON object. Where `known` has a member, in the order of the columns, that one is taken.
    fn object(&self, known: &[Option<Vec<u8>>], out: &mut Vec<u8>);

    /// Returns the member of one column in a JSON object, with a comma before it.
    fn member(&self, column: &str) -> Option<Vec<u8>>;

    /// Returns how many bytes of text all columns have.
    fn bytes_of_text(&self) -> usize;
}

/// Defines a struct whose fields are columns: `name: type = "description in words"`. After `($) as each`, the exported
/// macro `each!(then)` calls `then!` with the definitions, for other crates that have something for each column.
macro_rules! columns {
    (
        ($dollar:tt) as $each:ident;
        $(#[$meta:meta])*
        $visible:vis struct $row:ident {
            $($(#[$of_field:meta])* $name:ident: $type:ty = $words:expr,)*
        }
    ) => {
        $crate::dataset::columns::columns! {
            $(#[$meta])*
            $visible struct $row {
                $($(#[$of_field])* $name: $type = $words,)*
            }
        }

        #[doc(hidden)] // For the attributes in the Python module.
        #[macro_export]
        macro_rules! $each {
            ($dollar then:ident) => {
                $dollar then! { $($name: $type = $words,)* }
            };
        }
    };
    (
        $(#[$meta:meta])*
        $visible:vis struct $row:ident {
            $($(#[$of_field:meta])* $name:ident: $type:ty = $words:expr,)*
        }
    ) => {
        $(#[$meta])*
        #[allow(clippy::doc_markdown, reason = "the words are shown to people as they are")]
        $visible struct $row {
            $(
                #[doc = $words]
                $(#[$of_field])*
                pub $name: $type,
            )*
        }

        impl $crate::dataset::columns::Columns for $row {
            const NAMES: &'static [&'static str] = &[$(stringify!($name)),*];

            fn fields() -> Vec<arrow::datatypes::Field> {
                use $crate::dataset::columns::field;
                vec![$(field::<$type>(stringify!($name))),*]
            }

            fn arrays(rows: &[&Self]) -> Result<Vec<arrow::array::ArrayRef>, arrow::error::ArrowError> {
                use $crate::dataset::columns::Value;
                Ok(vec![$(<$type>::array(rows.iter().map(|row| Some(&row.$name)))?),*])
            }

            fn describe(column: &str) -> Option<&'static str> {
                match column {
                    $(stringify!($name) => Some($words),)*
                    _ => None,
                }
            }

            fn object(&self, known: &[Option<Vec<u8>>], out: &mut Vec<u8>) {
                use $crate::dataset::columns::Value;
                let (start, mut known) = (out.len(), known.iter());
                $(
                    if let Some(Some(member)) = known.next() {
                        out.extend_from_slice(member);
                    } else {
                        out.extend_from_slice(concat!(",\"", stringify!($name), "\":").as_bytes());
                        self.$name.json(out);
                    }
                )*
                out[start] = b'{';
                out.push(b'}');
            }

            fn member(&self, column: &str) -> Option<Vec<u8>> {
                use $crate::dataset::columns::Value;
                let mut out = format!(",\"{column}\":").into_bytes();
                match column {
                    $(stringify!($name) => self.$name.json(&mut out),)*
                    _ => return None,
                }
                Some(out)
            }

            fn bytes_of_text(&self) -> usize {
                use $crate::dataset::columns::Value;
                [$(self.$name.text_bytes()),*].iter().sum()
            }
        }
    };
}
pub(super) use columns;

/// Returns the field of a column.
pub(super) fn field<T: Value>(name: &str) -> Field {
    Field::new(name, T::data_type(), T::NULLABLE)
}

/// Implements [`Value`] for types that lead to a text.
macro_rules! texts {
    ($($type:ty),*) => {$(
        impl Value for $type {
            fn data_type() -> DataType {
                DataType::Utf8
            }

            fn array<'v>(values: impl Iterator<Item = Option<&'v Self>>) -> Result<ArrayRef, ArrowError> {
                Ok(Arc::new(values.map(|value| value.map(|value| &**value)).collect::<StringArray>()))
            }

            fn json(&self, out: &mut Vec<u8>) {
                json::text(self, out);
            }

            fn text_bytes(&self) -> usize {
                self.len()
            }
        }
    )*};
}

texts!(String, Arc<str>, &'static str);

impl Value for LinkKind {
    fn data_type() -> DataType {
        DataType::Utf8
    }

    fn array<'v>(values: impl Iterator<Item = Option<&'v Self>>) -> Result<ArrayRef, ArrowError> {
        Ok(Arc::new(values.map(|kind| kind.map(|kind| kind.name())).collect::<StringArray>()))
    }

    fn json(&self, out: &mut Vec<u8>) {
        json::text(self.name(), out);
    }
}

impl Value for i64 {
    fn data_type() -> DataType {
        DataType::Int64
    }

    fn array<'v>(values: impl Iterator<Item = Option<&'v Self>>) -> Result<ArrayRef, ArrowError> {
        Ok(Arc::new(values.map(Option::<&Self>::copied).collect::<Int64Array>()))
    }

    fn json(&self, out: &mut Vec<u8>) {
        json::number(*self, out);
    }
}

impl Value for f64 {
    fn data_type() -> DataType {
        DataType::Float64
    }

    fn array<'v>(values: impl Iterator<Item = Option<&'v Self>>) -> Result<ArrayRef, ArrowError> {
        Ok(Arc::new(values.map(Option::<&Self>::copied).collect::<Float64Array>()))
    }

    fn json(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(self.to_string().as_bytes());
    }
}

impl Value for Signature {
    fn data_type() -> DataType {
        DataType::FixedSizeList(Arc::new(Field::new("element", DataType::UInt32, false)), SIGNATURE_WIDTH)
    }

    fn array<'v>(values: impl Iterator<Item = Option<&'v Self>>) -> Result<ArrayRef, ArrowError> {
        let (mut all, mut valid) = (Vec::new(), Vec::new());
        for signature in values {
            all.extend_from_slice(signature.map_or(&[0; SIGNATURE], |signature| &signature.0));
            valid.push(signature.is_some());
        }
        let element = Arc::new(Field::new("element", DataType::UInt32, false));
        let values = Arc::new(UInt32Array::from(all));
        Ok(Arc::new(FixedSizeListArray::try_new(element, SIGNATURE_WIDTH, values, Some(NullBuffer::from(valid)))?))
    }

    fn json(&self, out: &mut Vec<u8>) {
        let numbers: Vec<String> = self.0.iter().map(u32::to_string).collect();
        out.extend_from_slice(format!("[{}]", numbers.join(",")).as_bytes());
    }
}

/// Number of values in a signature, as Arrow has it.
#[expect(clippy::cast_possible_truncation, clippy::cast_possible_wrap, reason = "it is small")]
const SIGNATURE_WIDTH: i32 = SIGNATURE as i32;

impl Value for bool {
    fn data_type() -> DataType {
        DataType::Boolean
    }

    fn array<'v>(values: impl Iterator<Item = Option<&'v Self>>) -> Result<ArrayRef, ArrowError> {
        Ok(Arc::new(values.map(Option::<&Self>::copied).collect::<BooleanArray>()))
    }

    fn json(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(if *self { b"true" } else { b"false" });
    }
}

impl Value for Time {
    fn data_type() -> DataType {
        DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into()))
    }

    fn array<'v>(values: impl Iterator<Item = Option<&'v Self>>) -> Result<ArrayRef, ArrowError> {
        let micros = values.map(|time| time.map(|time| time.micros()));
        Ok(Arc::new(micros.collect::<TimestampMicrosecondArray>().with_timezone("UTC")))
    }

    fn json(&self, out: &mut Vec<u8>) {
        match self.to_text() {
            Some(time) => json::text(&time, out),
            None => out.extend_from_slice(b"null"),
        }
    }
}

impl<T: Value> Value for Option<T> {
    const NULLABLE: bool = true;

    fn data_type() -> DataType {
        T::data_type()
    }

    fn array<'v>(values: impl Iterator<Item = Option<&'v Self>>) -> Result<ArrayRef, ArrowError>
    where
        Self: 'v,
    {
        T::array(values.map(|value| value.and_then(Self::as_ref)))
    }

    fn json(&self, out: &mut Vec<u8>) {
        match self {
            Some(value) => value.json(out),
            None => out.extend_from_slice(b"null"),
        }
    }

    fn text_bytes(&self) -> usize {
        self.as_ref().map_or(0, Value::text_bytes)
    }
}

impl<T: Value> Value for Box<T> {
    fn data_type() -> DataType {
        T::data_type()
    }

    fn array<'v>(values: impl Iterator<Item = Option<&'v Self>>) -> Result<ArrayRef, ArrowError>
    where
        Self: 'v,
    {
        T::array(values.map(|value| value.map(|value| &**value)))
    }

    fn json(&self, out: &mut Vec<u8>) {
        (**self).json(out);
    }
}

/// Implements [`Value`] for lists.
macro_rules! lists {
    ($($list:ty),*) => {$(
        impl<T: Value> Value for $list {
            fn data_type() -> DataType {
                DataType::List(element::<T>())
            }

            fn array<'v>(values: impl Iterator<Item = Option<&'v Self>>) -> Result<ArrayRef, ArrowError>
            where
                Self: 'v,
            {
                let lists: Vec<&[T]> = values.map(|list| list.map_or(&[][..], |list| &**list)).collect();
                let offsets = OffsetBuffer::from_lengths(lists.iter().map(|list| list.len()));
                let elements = T::array(lists.into_iter().flatten().map(Some))?;
                Ok(Arc::new(ListArray::try_new(element::<T>(), offsets, elements, None)?))
            }

            fn json(&self, out: &mut Vec<u8>) {
                out.push(b'[');
                for (at, value) in self.iter().enumerate() {
                    if at > 0 {
                        out.push(b',');
                    }
                    value.json(out);
                }
                out.push(b']');
            }

            fn text_bytes(&self) -> usize {
                self.iter().map(Value::text_bytes).sum()
            }
        }
    )*};
}

lists!(Vec<T>, Arc<[T]>);

fn element<T: Value>() -> Arc<Field> {
    Arc::new(field::<T>("element"))
}

/// Implements [`Value`] for rows inside a list.
macro_rules! structs {
    ($($row:ty),*) => {$(
        impl $crate::dataset::columns::Value for $row {
            fn data_type() -> arrow::datatypes::DataType {
                $crate::dataset::columns::struct_type::<Self>()
            }

            fn array<'v>(
                values: impl Iterator<Item = Option<&'v Self>>,
            ) -> Result<arrow::array::ArrayRef, arrow::error::ArrowError> {
                $crate::dataset::columns::struct_array(values)
            }

            fn json(&self, out: &mut Vec<u8>) {
                $crate::dataset::columns::Columns::object(self, &[], out);
            }

            fn text_bytes(&self) -> usize {
                $crate::dataset::columns::Columns::bytes_of_text(self)
            }
        }
    )*};
}
pub(super) use structs;

pub(super) fn struct_type<R: Columns>() -> DataType {
    DataType::Struct(Fields::from(R::fields()))
}

pub(super) fn struct_array<'v, R: Columns + 'v>(
    values: impl Iterator<Item = Option<&'v R>>,
) -> Result<ArrayRef, ArrowError> {
    let rows: Vec<&R> = values.flatten().collect();
    let (fields, arrays) = (Fields::from(R::fields()), R::arrays(&rows)?);
    Ok(Arc::new(StructArray::try_new_with_length(fields, arrays, None, rows.len())?))
}
