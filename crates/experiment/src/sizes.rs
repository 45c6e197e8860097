//! Distributions of the sizes of transfers, and their text form: "20 kB", "log-normal/20kB/1.5",
//! "pareto/20kB/1.2/10MB", "web-search".
//!
//! Means and draws use libm's software functions, so they are the same on every machine.

use std::fmt::Write as _;

use crate::limits::MAX_BYTES;
use crate::quantity::{format_size, parse_positive_size};
use crate::text::{quoted, shorten, Refused};

/// The built-in distributions: their names, and the text of their files.
const BUILT_IN: [(&str, &str); 2] = [
    ("web-search", include_str!("../data/web-search.cdf")),
    ("data-mining", include_str!("../data/data-mining.cdf")),
];
/// Begins the text form of points of a distribution function.
const CDF: &str = "cdf";
const LOG_NORMAL: &str = "log-normal";
const PARETO: &str = "pareto";
const ALLOWED: &str = "a size, log-normal/MEAN/SIGMA, pareto/MEAN/SHAPE, \
    pareto/MEAN/SHAPE/LARGEST, web-search, data-mining, or a file";
/// Largest number of points of a distribution function.
const MAX_POINTS: usize = 10_000;
/// Largest sigma of a log-normal distribution, and largest shape of a Pareto distribution.
const MAX_PARAMETER: f64 = 100.0;

/// The distribution of a transfer's size, in bytes.
#[derive(Clone, Debug, PartialEq)]
pub enum Sizes {
    /// All transfers have this size.
    Fixed(u64),
    /// The logarithm of the size is normally distributed.
    LogNormal {
        /// Mean of the logarithm.
        mu: f64,
        /// Standard deviation of the logarithm.
        sigma: f64,
    },
    /// A Pareto distribution, from which sizes above `largest` are cut off.
    Pareto {
        /// Smallest size.
        smallest: f64,
        /// The exponent alpha of the tail.
        shape: f64,
        /// Largest size; infinite if nothing is cut off.
        largest: f64,
    },
    /// Points of a distribution function: a size in bytes, and the share of transfers of at most
    /// this size. The function is linear between points. The share of the first point is the share
    /// of transfers that have exactly its size.
    Cdf(Vec<(u64, f64)>),
}

impl Sizes {
    /// Whether a text is meant to be the name of a file and not a distribution.
    #[must_use]
    pub fn is_file(text: &str) -> bool {
        let first = text.split('/').next().unwrap_or_default();
        let is_named = [CDF, LOG_NORMAL, PARETO].contains(&first)
            || BUILT_IN.iter().any(|(name, _)| *name == text);
        let number = text.trim_start_matches(['+', '-', '.']);
        let is_size = number.starts_with(|c: char| c.is_ascii_digit());
        !is_named && !is_size
    }

    /// Parses a distribution.
    ///
    /// # Errors
    /// One line with the text and what is allowed.
    pub fn parse(text: &str) -> Result<Sizes, Refused> {
        let shown = || shorten(&quoted(text));
        if let Some((_, lines)) = BUILT_IN.iter().find(|(name, _)| *name == text) {
            return Sizes::of_lines(lines);
        }
        let parts: Vec<&str> = text.split('/').collect();
        let made = match *parts.as_slice() {
            [CDF, ref points @ ..] => Sizes::of_points(points.iter().map(|point| {
                point
                    .split_once('@')
                    .ok_or_else(|| Refused::new(format!("{} needs SIZE@SHARE", quoted(point))))
            })),
            [LOG_NORMAL, mean, sigma] => Sizes::log_normal(mean, sigma),
            [PARETO, mean, shape] => Sizes::pareto(mean, shape, None),
            [PARETO, mean, shape, largest] => Sizes::pareto(mean, shape, Some(largest)),
            [size] if !Sizes::is_file(text) => size_of(size).map(Sizes::Fixed),
            _ => Err(Refused::new(format!("not a distribution; {ALLOWED}"))),
        };
        made.map_err(|e| Refused::new(format!("{} is not allowed; {e}", shown())))
    }

    /// Parses a file: on each line a size in bytes and the share of transfers of at most this size.
    /// Blank lines, and lines that begin with "#", are ignored.
    ///
    /// # Errors
    /// One line that names the wrong value and what is allowed.
    pub fn of_lines(text: &str) -> Result<Sizes, Refused> {
        let lines = (1..).zip(text.lines()).filter(|(_, line)| {
            let line = line.trim();
            !line.is_empty() && !line.starts_with('#')
        });
        Sizes::of_points(lines.map(|(number, line)| {
            let mut cells = line.split([' ', '\t', ',']).filter(|cell| !cell.is_empty());
            match (cells.next(), cells.next(), cells.next()) {
                (Some(size), Some(share), None) => Ok((size, share)),
                _ => Err(Refused::new(format!(
                    "line {number}: {} is not allowed; a size in bytes and a share",
                    shorten(&quoted(line))
                ))),
            }
        }))
    }

    /// The text form, which [`Sizes::parse`] reads, of points of a distribution function.
    #[must_use]
    pub fn text_of_points(points: &[(u64, f64)]) -> String {
        let mut text = CDF.to_owned();
        for (bytes, share) in points {
            let _ = write!(text, "/{bytes}@{share}");
        }
        text
    }

    fn of_points<'a>(
        all: impl Iterator<Item = Result<(&'a str, &'a str), Refused>>,
    ) -> Result<Sizes, Refused> {
        let mut points: Vec<(u64, f64)> = vec![];
        for point in all {
            let (size, share) = point?;
            let refuse = |what: String| Refused::new(format!("point {}: {what}", points.len() + 1));
            let bytes = size.parse::<u64>().ok().filter(|&bytes| bytes <= MAX_BYTES);
            let bytes = bytes.ok_or_else(|| {
                let size = shorten(&quoted(size));
                refuse(format!("{size} is not allowed; whole bytes, at most 1 PiB"))
            })?;
            let is_share = |share: &f64| (0.0..=1.0).contains(share);
            let number = share.parse::<f64>().ok().filter(is_share).ok_or_else(|| {
                let share = shorten(&quoted(share));
                refuse(format!("{share} is not allowed; a share from 0 to 1"))
            })?;
            if let Some(&(before, reached)) = points.last() {
                if bytes < before {
                    return Err(refuse(format!(
                        "{bytes} bytes are not allowed; at least the size before, {before}"
                    )));
                }
                if number < reached {
                    return Err(refuse(format!(
                        "the share {number} is not allowed; at least the share before, {reached}"
                    )));
                }
            }
            points.push((bytes, number));
            if points.len() > MAX_POINTS {
                return Err(Refused::new(format!("at most {MAX_POINTS} points")));
            }
        }
        match points.last() {
            None => Err(Refused::new("no points; at least one is needed")),
            Some(&(0, _)) => Err(Refused::new("the largest size is 0; at least 1 byte")),
            Some(&(_, share)) if share < 1.0 => Err(Refused::new(format!(
                "the last share is {share}; it must be 1"
            ))),
            Some(_) => Ok(Sizes::Cdf(points)),
        }
    }

    fn log_normal(mean: &str, sigma: &str) -> Result<Sizes, Refused> {
        let (mean, sigma) = (size_of(mean)? as f64, parameter("sigma", sigma, 0.0)?);
        let mu = libm::log(mean) - sigma * sigma / 2.0;
        Ok(Sizes::LogNormal { mu, sigma })
    }

    fn pareto(mean: &str, shape: &str, largest: Option<&str>) -> Result<Sizes, Refused> {
        let mean = size_of(mean)? as f64;
        let Some(largest) = largest else {
            let shape = parameter("shape", shape, 1.0)?;
            let smallest = mean * (shape - 1.0) / shape;
            let largest = f64::INFINITY;
            return Ok(Sizes::Pareto {
                smallest,
                shape,
                largest,
            });
        };
        let shape = parameter("shape", shape, 0.0)?;
        let largest = size_of(largest)? as f64;
        if mean >= largest {
            return Err(Refused::new("the mean must be less than the largest size"));
        }
        // The mean grows with the smallest size, so bisection finds it.
        let (mut low, mut high) = (0.0, mean);
        for _ in 0..200 {
            let smallest = f64::midpoint(low, high);
            if truncated_mean(smallest, shape, largest) < mean {
                low = smallest;
            } else {
                high = smallest;
            }
        }
        let smallest = high;
        Ok(Sizes::Pareto {
            smallest,
            shape,
            largest,
        })
    }

    /// The mean size in bytes.
    #[must_use]
    pub fn mean_bytes(&self) -> f64 {
        match self {
            Sizes::Fixed(bytes) => *bytes as f64,
            Sizes::LogNormal { mu, sigma } => libm::exp(mu + sigma * sigma / 2.0),
            Sizes::Pareto {
                smallest,
                shape,
                largest,
            } if largest.is_infinite() => smallest * shape / (shape - 1.0),
            Sizes::Pareto {
                smallest,
                shape,
                largest,
            } => truncated_mean(*smallest, *shape, *largest),
            Sizes::Cdf(points) => {
                let between = points.windows(2).map(|pair| {
                    let ((low, from), (high, to)) = (pair[0], pair[1]);
                    (to - from) * f64::midpoint(low as f64, high as f64)
                });
                points[0].0 as f64 * points[0].1 + between.sum::<f64>()
            }
        }
    }

    /// Draws a size in whole bytes, at least 1. `uniform` returns independent numbers that are
    /// uniformly distributed in (0, 1].
    pub fn draw(&self, mut uniform: impl FnMut() -> f64) -> u64 {
        let bytes = match self {
            Sizes::Fixed(bytes) => return *bytes,
            Sizes::LogNormal { mu, sigma } => libm::exp(mu + sigma * normal(uniform)),
            Sizes::Pareto {
                smallest,
                shape,
                largest,
            } => {
                // the share of the distribution that is not cut off
                let kept = 1.0 - libm::pow(smallest / largest, *shape);
                let above = 1.0 - kept * (1.0 - uniform());
                smallest * libm::pow(above, -1.0 / shape)
            }
            Sizes::Cdf(points) => {
                let share = uniform();
                let at = points.partition_point(|point| point.1 < share);
                match at.checked_sub(1) {
                    None => points[0].0 as f64,
                    Some(before) => {
                        let ((low, from), (high, to)) = (points[before], points[at]);
                        low as f64 + (high - low) as f64 * (share - from) / (to - from)
                    }
                }
            }
        };
        (libm::round(bytes) as u64).clamp(1, MAX_BYTES)
    }
}

/// Draws a number with the standard normal distribution (Box and Muller 1958). `uniform` returns
/// independent numbers that are uniformly distributed in (0, 1].
pub fn normal(mut uniform: impl FnMut() -> f64) -> f64 {
    let radius = libm::sqrt(-2.0 * libm::log(uniform()));
    radius * libm::cos(std::f64::consts::TAU * uniform())
}

/// Mean of a Pareto distribution that is cut off at `largest` (Scharf 2011, appendix A.1.2). At
/// shape 1 it is the limit of the formula.
fn truncated_mean(smallest: f64, shape: f64, largest: f64) -> f64 {
    let ratio = largest / smallest;
    let kept = 1.0 - libm::pow(ratio, -shape);
    let grown = if (shape - 1.0).abs() < 1e-9 {
        libm::log(ratio)
    } else {
        (1.0 - libm::pow(ratio, 1.0 - shape)) / (shape - 1.0)
    };
    shape * smallest * grown / kept
}

fn size_of(text: &str) -> Result<u64, Refused> {
    match parse_positive_size(text)? {
        bytes if bytes <= MAX_BYTES => Ok(bytes),
        bytes => Err(Refused::new(format!(
            "{} is more than 1 PiB",
            format_size(bytes.into())
        ))),
    }
}

/// Parses a parameter of a distribution, which must be more than `least`.
fn parameter(name: &str, text: &str, least: f64) -> Result<f64, Refused> {
    let value = text.parse::<f64>().ok();
    value
        .filter(|&value| value > least && value <= MAX_PARAMETER)
        .ok_or_else(|| {
            let text = shorten(&quoted(text));
            Refused::new(format!(
                "{name} {text} must be more than {least}, at most {MAX_PARAMETER}"
            ))
        })
}
