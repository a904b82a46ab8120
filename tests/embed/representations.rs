//! Vectors in fewer bits: what is stored, and what can be restored of it.

use arrow::datatypes::{ArrowPrimitiveType, Float16Type};
use chunkmill::embed::kernel::{BitLayout, BitQuestion, Isa, Scan};
use chunkmill::embed::model_ref::ModelRef;
use chunkmill::embed::{EmbeddingType, EmbeddingTypes, Engine, Representation, StoredVectors, load, restore};

use crate::dataset::jobs::Numbers;

const DIM: usize = 37;

/// Returns every set of types.
fn all_types() -> Vec<EmbeddingTypes> {
    let wide = ["", "f32", "f16", "list"];
    let small = ["", "int8", "bits", "int8,bits"];
    let both = wide.iter().flat_map(|wide| small.iter().map(move |small| [*wide, *small]));
    let names = both.map(|names| names.into_iter().filter(|name| !name.is_empty()).collect::<Vec<_>>().join(","));
    names.filter(|names| !names.is_empty()).map(|names| names.parse().unwrap()).collect()
}

/// Returns vectors of length 1, some with values where roundings of one type are those of another, or none.
fn vectors(random: &mut Numbers) -> Vec<f32> {
    let mut all = Vec::new();
    for kind in 0..200 {
        let value = |random: &mut Numbers| match kind % 5 {
            // Next to the borders of bytes.
            0 => (random.below(255) as f32 - 127.5) / 127.0 * 0.2 * (1.0 + (random.below(5) as f32 - 2.0) * 1e-7),
            // Too small for half precision, or for a byte.
            1 => (random.below(3) as f32 - 1.0) * 10_f32.powi(-(random.below(30) as i32)),
            2 => 0.0,
            _ => random.below(2_000_001) as f32 / 1e6 - 1.0,
        };
        let mut vector: Vec<f32> = (0..DIM).map(|_| value(random)).collect();
        if kind % 5 > 2 {
            let length = vector.iter().map(|x| x * x).sum::<f32>().sqrt();
            vector.iter_mut().for_each(|x| *x /= length);
        }
        all.extend(vector);
    }
    all
}

fn store(types: EmbeddingTypes, vectors: &[f32]) -> Vec<StoredVectors> {
    Representation::all(DIM, types).iter().map(|of| of.store(vectors)).collect()
}

#[test]
fn restored_vectors_are_stored_as_the_columns_they_were_restored_from() {
    let mut random = Numbers::new(7);
    for types in all_types() {
        for _ in 0..20 {
            let computed = vectors(&mut random);
            let columns = store(types, &computed);
            let restored = restore(&columns, DIM);
            assert!(store(types, &restored) == columns, "{types}");
            if types.best().is_exact() {
                assert!(restored == computed, "{types}");
            }
        }
    }
}

#[test]
fn bytes_are_a_hundred_and_twenty_sevenths_and_bits_are_signs() {
    let vector = [1.0, -1.0, 0.0, -0.0, 0.5, 0.003, -0.003, 1.0005, 1e-9, -0.25];
    let of = |stored| Representation { dim: vector.len(), stored }.store(&vector);
    assert_eq!(of(EmbeddingType::Int8), StoredVectors::Int8(vec![127, -127, 0, 0, 64, 0, 0, 127, 0, -32]));
    assert_eq!(of(EmbeddingType::Bits), StoredVectors::Bits(vec![0b1000_1101, 0b1000_0000]));
    let bits = of(EmbeddingType::Bits).floats(vector.len());
    assert_eq!(bits.iter().map(|x| f64::from(x * x)).sum::<f64>().round(), 1.0);
    assert!(bits.iter().zip(vector).all(|(bit, x)| (*bit > 0.0) == (x > 0.0)));
    let of = |stored, dim| Representation { dim, stored };
    assert_eq!([EmbeddingType::Int8, EmbeddingType::Bits].map(|stored| of(stored, 10).width()), [10, 2]);
    assert_eq!([EmbeddingType::F32, EmbeddingType::F16].map(|stored| of(stored, 10).bytes()), [40, 20]);
}

#[test]
fn types_are_named_once_and_one_for_each_column() {
    for (text, same) in
        [("f32", "f32"), ("bits,f32", "f32,bits"), ("int8, bits", "int8,bits"), ("bits,int8,f16", "f16,int8,bits")]
    {
        assert_eq!(text.parse::<EmbeddingTypes>().unwrap().to_string(), same);
    }
    for (text, problem) in [
        ("f32,f16", "`f32` and `f16` are for the same column; choose one of them"),
        ("int8,int8", "`int8,int8` has `int8` twice"),
        ("", "is not a type of embedding"),
        ("f32,", "is not a type of embedding"),
        ("binary", "bits"),
    ] {
        let said = text.parse::<EmbeddingTypes>().unwrap_err();
        assert!(said.contains(problem), "{text}: {said}");
    }
}

#[test]
fn products_are_the_same_sums_with_every_instruction_set() {
    let mut random = Numbers::new(11);
    for dim in [1_usize, 7, 8, 31, 32, 33, 63, 64, 65, 96, 200, 384, 1000] {
        let rows = 5;
        let bytes: Vec<i8> = (0..rows * dim).map(|_| (random.below(255) as i32 - 127) as i8).collect();
        let most = i32::from(i16::MAX).min(i32::MAX / 2 / 127 / dim as i32);
        let question: Vec<i16> = (0..dim).map(|_| (random.below(2 * most as usize + 1) as i32 - most) as i16).collect();
        let of_bytes: Vec<i32> = bytes
            .chunks(dim)
            .map(|row| row.iter().zip(&question).map(|(x, y)| i32::from(*x) * i32::from(*y)).sum())
            .collect();
        let floats: Vec<f32> = (0..rows * dim).map(|_| random.below(2001) as f32 / 1000.0 - 1.0).collect();
        let mut of_floats: Option<Vec<f32>> = None;
        for scan in Isa::ALL.into_iter().filter_map(Scan::new) {
            let mut products = vec![0.0; rows];
            scan.floats(&floats, &floats[..dim], &mut products);
            for (product, row) in products.iter().zip(floats.chunks(dim)) {
                let exact: f64 = row.iter().zip(&floats).map(|(x, y)| f64::from(*x) * f64::from(*y)).sum();
                assert!((f64::from(*product) - exact).abs() <= 1e-4, "{dim}: {product} instead of {exact}");
            }
            assert_eq!(*of_floats.get_or_insert_with(|| products.clone()), products, "the same bits, {dim}");
            let mut sums = vec![0; rows];
            scan.bytes(&bytes, &question, &mut sums);
            assert_eq!(sums, of_bytes, "{dim}");
        }
    }
}

#[test]
fn products_with_bits_are_the_same_sums_with_every_instruction_set() {
    let mut random = Numbers::new(12);
    for dim in [1_usize, 7, 8, 9, 16, 17, 31, 33, 64, 65, 96, 200, 384, 1000, 4096, 4104, 9000, 20_001] {
        let width = dim.div_ceil(8);
        let layout = BitLayout::new(dim);
        let questions: [Vec<i8>; 3] = [
            (0..dim).map(|_| (random.below(255) as i32 - 127) as i8).collect(),
            vec![127; dim],
            (0..dim).map(|at| if at % 3 == 0 { 127 } else { -127 }).collect(),
        ];
        for question in questions {
            // The largest and the smallest products are those with its own signs and the opposite ones. Behind the last dimension,
            // a row may have anything.
            let mut signs = vec![0; width];
            question.iter().enumerate().for_each(|(at, x)| signs[at / 8] |= u8::from(*x > 0) << (7 - at % 8));
            let opposite = signs.iter().map(|byte| !byte).collect();
            let mut rows = vec![signs, opposite, vec![255; width], vec![0; width]];
            // One full block and a part of one.
            rows.extend((0..BitLayout::ROWS).map(|_| (0..width).map(|_| random.below(256) as u8).collect()));
            let blocks = layout.blocks(&rows.concat());
            assert_eq!(blocks.len(), layout.bytes(rows.len()));
            let sign = |row: &[u8], at: usize| if row[at / 8] >> (7 - at % 8) & 1 == 1 { 1 } else { -1 };
            let product = |row: &Vec<u8>| (0..dim).map(|at| sign(row, at) * i32::from(question[at])).sum::<i32>();
            let wanted: Vec<i32> = rows.iter().map(product).collect();
            let prepared = BitQuestion::new(&question);
            for scan in Isa::ALL.into_iter().filter_map(Scan::new) {
                let mut sums = vec![0; blocks.len() / layout.block() * BitLayout::ROWS];
                scan.bits(&blocks, &prepared, &mut sums);
                assert_eq!(sums[..rows.len()], wanted, "{dim}");
            }
            for (at, row) in rows.iter().enumerate() {
                assert_eq!(layout.row(&blocks, at), *row);
            }
        }
    }
}

#[test]
fn small_types_are_only_for_vectors_of_length_1() {
    let mut info = load(Engine::Fake, &ModelRef::default()).unwrap().info().clone();
    for types in all_types() {
        info.normalize = true;
        info.check_stored(types).unwrap();
        info.normalize = false;
        let is_small = types.to_string().contains("int8") || types.to_string().contains("bits");
        match info.check_stored(types) {
            Ok(()) => assert!(!is_small, "{types}"),
            Err(error) => assert!(is_small && error.to_string().contains("is for vectors of length 1"), "{error}"),
        }
    }
}

#[test]
fn a_byte_that_no_value_has_ends_no_program() {
    let half = <Float16Type as ArrowPrimitiveType>::Native::from_f32;
    let halves = StoredVectors::F16([0.5, f32::NAN].map(half).to_vec());
    let restored = restore(&[halves, StoredVectors::Int8(vec![i8::MIN, 3])], 2);
    assert!(restored[0] == 0.5 && restored[1].is_nan());
}
