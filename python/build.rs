//! The module is linked without Python, whose functions become available when Python loads the module. On macOS, the
//! linker needs an argument that allows this.

fn main() {
    pyo3_build_config::add_extension_module_link_args();
}
