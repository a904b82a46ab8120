//! Prints the chunks of a file: `cargo run -p chunkmill-text --example chunks -- README.md`.

use chunkmill_text::chunk::{Spec, chunk};
use chunkmill_text::document::Document;

#[expect(clippy::print_stdout, reason = "it is a program")]
fn main() -> Result<(), Box<dyn std::error::Error>> {
    let path = std::env::args().nth(1).ok_or("name a file")?;
    let document = Document::from_text(&path, std::fs::read_to_string(&path)?);
    let spec: Spec = "structure max=256".parse()?;
    // Sizes are counted in tokens of an encoding. Only sizes in a model's own tokens need that model's counter here.
    for chunk in chunk(&document, &spec, spec.sizer(None)?)? {
        println!("{} bytes {:?} under {:?}", chunk.id, chunk.range, chunk.heading_path);
        println!("{}\n", chunk.content(&document));
    }
    Ok(())
}
