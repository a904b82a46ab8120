//! Tells the program for which target it is built: only cargo knows, and only while it builds. What is set
//! here is also in the environment of tests, so it must not have the name of a setting.

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rustc-env=TARGET_TRIPLE={}", std::env::var("TARGET").unwrap_or_default());
}
