//! Counts the tokens of its arguments in every encoding.
//!
//! ```sh
//! cargo run --release --example count -- "How many tokens is this?"
//! ```
#![allow(clippy::print_stdout, reason = "an example shows its result")]

use chunkmill::error::Result;
use chunkmill::tokens::{Encoding, Sizer, Unit};

fn main() -> Result<()> {
    let text = std::env::args().skip(1).collect::<Vec<_>>().join(" ");
    for encoding in Encoding::ALL {
        // The tables of an encoding are loaded on first use and then stay in memory.
        let sizer = Sizer::new(Unit::Tokens, encoding, None)?;
        println!("{encoding}: {} tokens", sizer.size(&text)?);
    }
    Ok(())
}
