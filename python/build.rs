//! A module is linked without Python, whose functions are there when Python loads it; macOS wants to be told so.

fn main() {
    pyo3_build_config::add_extension_module_link_args();
}
