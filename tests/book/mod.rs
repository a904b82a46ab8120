//! The book, the README and the map of the code: whether they are true.
//!
//! The pages are in `docs/src`. `docs/check.py` checks their links and runs their code blocks.
//!
//! | file | question it answers |
//! | --- | --- |
//! | `architecture` | Is the map of the modules correct? |
//! | `designs` | Do the tables of presets, designs and promises name tests that exist? |
//! | `examples` | Do the examples do what they say? |
//! | `pages` | (helpers: pages that are generated from the code) |
//! | `reference` | Does the book have every setting, command, column and format? |

mod architecture;
mod designs;
mod examples;
pub mod pages;
mod reference;
