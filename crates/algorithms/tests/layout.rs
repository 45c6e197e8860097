//! C and Rust lay out the structures of the contract in the same way.

use headway_algorithms::native::{c_layout, rust_layout};

#[test]
fn every_structure_is_laid_out_as_the_c_compiler_does() {
    assert!(c_layout().len() > 30);
    assert_eq!(rust_layout(), c_layout());
}
