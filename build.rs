//! Tells the program for which target it is built: only cargo knows, and only while it builds.

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rustc-env=CHUNKMILL_TARGET={}", std::env::var("TARGET").unwrap_or_default());
}
