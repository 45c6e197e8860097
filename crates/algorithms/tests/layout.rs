//! C and Rust have the same layout of structures.

use headway_algorithms::native::{c_layout, rust_layout};

#[test]
fn every_structure_is_laid_out_as_the_c_compiler_does() {
    assert!(c_layout().len() > 30);
    assert_eq!(rust_layout(), c_layout());
}
