//! Checks that every promise holds for arbitrary bytes, as any kind of file, with any spec.

#![no_main]

#[allow(dead_code, reason = "the suite uses the rest")]
#[path = "../../promises.rs"]
mod promises;

libfuzzer_sys::fuzz_target!(|input: &[u8]| promises::check_input(input));
