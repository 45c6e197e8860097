//! The specification of a testbed, and the emulator's configuration that follows from it.

use std::collections::BTreeMap;
use std::fs;
use std::net::Ipv4Addr;
use std::path::PathBuf;

use headway_emulator::{Capture, Config, Host, Path, VaryFile};
use headway_experiment::path::halves_ns;
use headway_experiment::{
    any_time, parse_buffer, parse_probability, parse_rate, parse_time, Buffer, Limit, Refused,
};
use headway_sim::net::link::Link;
use headway_sim::scenario::{Aqm, LinkSpec};
use serde::Deserialize;

use super::names::{namespace, DEVICE, MAX_HOSTS};
use super::{experiment, gateway, preset, HostState};
use crate::error::{Attempt as _, Failure};

/// The command-line options that describe a testbed's links; all are optional.
#[derive(Clone, Debug, Default)]
pub struct LinkOptions {
    /// Name of a preset.
    pub preset: Option<String>,
    /// The file of --config, which describes both directions. It cannot be combined with any other
    /// option of this structure.
    pub config: Option<PathBuf>,
    /// The file of an experiment. It cannot be combined with any other option of this structure
    /// except `capture`.
    pub experiment: Option<PathBuf>,
    /// Rate of the link in both directions.
    pub rate: Option<String>,
    /// Rate of the link from right to left.
    pub reverse_rate: Option<String>,
    /// Round-trip propagation delay of the path.
    pub rtt: Option<String>,
    /// Queue limit of both directions.
    pub buffer: Option<String>,
    /// Random loss of both directions.
    pub loss: Option<String>,
    /// AQM of both directions: a name and tunables, such as "red:ecn=on".
    pub aqm: Option<String>,
    /// Rate over time from left to right: "schedule:FILE" or "mahimahi:FILE".
    pub vary: Option<String>,
    /// Rate over time from right to left, like `vary`.
    pub reverse_vary: Option<String>,
    /// Seed of the links' random numbers.
    pub seed: Option<u64>,
    /// Capture file for the packets of both directions.
    pub capture: Option<PathBuf>,
}

/// Everything that `testbed up` needs to know to create a testbed.
#[derive(Clone, Debug)]
pub struct Spec {
    /// The testbed's name.
    pub name: String,
    /// The preset, if one was given.
    pub preset: Option<String>,
    /// The emulator's configuration.
    pub config: Config,
    /// The terrestrial leg, if the testbed has a gateway to the left of the link.
    pub ground: Option<Config>,
    /// Default congestion control of all hosts.
    pub control: String,
    /// Default congestion control of the gateway, if it differs.
    pub gateway_control: Option<String>,
    /// Sysctls of all hosts, without the default congestion control.
    pub sysctls: BTreeMap<String, String>,
    /// Folder for the log.
    pub log: Option<PathBuf>,
}

/// The file of `--config`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ConfigFile {
    #[serde(default)]
    seed: Option<u64>,
    forward: Path,
    reverse: Path,
    /// The links of a network from number 2 on.
    #[serde(default)]
    further: Vec<Path>,
    /// The routes of each pair of hosts, in the hosts' order. Empty: the two links join all hosts.
    #[serde(default)]
    routes: Vec<PairRoutes>,
    /// Both directions of the terrestrial leg, which is on the left of a gateway; None: no gateway.
    #[serde(default)]
    ground: Option<Leg>,
    /// Extra delay of each host on the left, in the hosts' order; missing values are 0.
    #[serde(default)]
    extra_delay_ns: Vec<u64>,
    /// Delay of the access link of every host.
    #[serde(default)]
    access_delay_ns: u64,
    /// Rate of each host's access link. None: hosts have no access links, and their packets reach
    /// the emulated link at once.
    #[serde(default)]
    access_rate_bps: Option<u64>,
    #[serde(default)]
    capture: Option<Capture>,
    #[serde(default)]
    late_threshold_ns: Option<u64>,
    #[serde(default)]
    spin_ns: Option<u64>,
    #[serde(default)]
    spin_share: Option<f64>,
    #[serde(default)]
    real_time: Option<bool>,
}

/// The links that the packets of a pair of hosts cross, in order.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct PairRoutes {
    /// From the host on the left to the host on the right.
    there: Vec<u8>,
    /// From the host on the right to the host on the left.
    back: Vec<u8>,
}

/// A further leg.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Leg {
    forward: Path,
    reverse: Path,
}

/// Values that apply if neither a preset nor the option gives one.
const RATE_BPS: u64 = 10_000_000;
const RTT_NS: u64 = 50_000_000;

/// Sysctls of every host. They are set explicitly, because a new namespace inherits some values
/// from the machine, and because other defaults differ between kernels.
const SYSCTLS: [(&str, &str); 13] = [
    ("net.ipv4.ip_forward", "0"),
    ("net.ipv4.tcp_ecn", "2"),
    ("net.ipv4.tcp_moderate_rcvbuf", "1"),
    ("net.ipv4.tcp_mtu_probing", "0"),
    // a connection must not start with metrics (such as ssthresh) that an earlier connection saved
    ("net.ipv4.tcp_no_metrics_save", "1"),
    // socket buffers have room for several bandwidth-delay products of 1 Gbit/s and 200 ms
    ("net.ipv4.tcp_rmem", "4096 131072 268435456"),
    ("net.ipv4.tcp_sack", "1"),
    ("net.ipv4.tcp_slow_start_after_idle", "1"),
    ("net.ipv4.tcp_timestamps", "1"),
    ("net.ipv4.tcp_window_scaling", "1"),
    ("net.ipv4.tcp_wmem", "4096 16384 268435456"),
    // IPv6 is off, because it would send neighbour discovery on these links
    ("net.ipv6.conf.all.disable_ipv6", "1"),
    ("net.ipv6.conf.default.disable_ipv6", "1"),
];

impl Spec {
    /// Builds the specification of a testbed.
    ///
    /// # Errors
    /// A one-line error for any invalid value.
    pub fn new(
        name: &str,
        links: &LinkOptions,
        hosts: u32,
        control: &str,
        sysctls: &[String],
        log: Option<PathBuf>,
    ) -> Result<Spec, Failure> {
        let usable = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-';
        if !(1..=32).contains(&name.len()) || !name.bytes().all(usable) {
            return Err(Failure::bad_input(format!(
                "\"{name}\" cannot be a testbed's name: 1 to 32 of a-z, 0-9 and -"
            )));
        }
        if !(1..=MAX_HOSTS).contains(&hosts) {
            return Err(Failure::bad_input(format!(
                "{hosts} hosts per side: must be 1 to {MAX_HOSTS}"
            )));
        }
        let (mut config, ground) = config(links, hosts)?;
        let log = match log {
            Some(folder) => {
                let folder = std::path::absolute(&folder)
                    .attempt(format!("use the folder {}", folder.display()))?;
                config.log = Some(folder.join("packets.bin"));
                Some(folder)
            }
            None => None,
        };
        check(&config)?;
        ground.as_ref().map_or(Ok(()), check)?;
        Ok(Spec {
            name: name.to_owned(),
            preset: links.preset.clone(),
            config,
            ground,
            control: control.to_owned(),
            gateway_control: None,
            sysctls: settings(sysctls)?,
            log,
        })
    }

    /// All hosts of the testbed, those on the left first.
    #[must_use]
    pub fn hosts(&self) -> Vec<HostState> {
        let side = |side: &str, hosts: &[Host]| -> Vec<HostState> {
            hosts
                .iter()
                .enumerate()
                .map(|(i, host)| {
                    let name = format!("{side}{}", i + 1);
                    HostState {
                        namespace: namespace(&self.name, &name),
                        name,
                        address: host.address,
                        device: DEVICE.into(),
                        offloads: BTreeMap::new(),
                    }
                })
                .collect()
        };
        let ground = self.ground.as_ref();
        let mut all = side("left", ground.map_or(&self.config.left, |g| &g.left));
        all.extend(side("right", &self.config.right));
        all.extend(ground.map(|_| gateway::host(&self.name)));
        all
    }

    /// Sets the gateway's default congestion control, which may differ from the hosts'.
    ///
    /// # Errors
    /// The testbed has no gateway.
    pub fn set_gateway_control(&mut self, control: &str) -> Result<(), Failure> {
        if self.ground.is_none() {
            return Err(bad(format!(
                "--gateway-control {control}: the path has no gateway; --preset geo-gateway has one"
            )));
        }
        self.gateway_control = Some(control.to_owned());
        Ok(())
    }
}

fn bad(message: String) -> Failure {
    Failure::bad_input(message)
}

fn settings(changes: &[String]) -> Result<BTreeMap<String, String>, Failure> {
    let mut settings: BTreeMap<String, String> = SYSCTLS
        .iter()
        .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
        .collect();
    for change in changes {
        let (name, value) = change
            .split_once('=')
            .filter(|(name, _)| name.starts_with("net.") && !name.contains(['/', ' ']))
            .ok_or_else(|| {
                bad(format!(
                    "--sysctl \"{change}\": must be like net.ipv4.tcp_sack=0"
                ))
            })?;
        settings.insert(name.into(), value.into());
    }
    Ok(settings)
}

fn hosts_of(second: u8, hosts: u32, access_ns: u64, extra_delay_ns: &[u64]) -> Vec<Host> {
    (0..hosts)
        .map(|i| {
            let address = Ipv4Addr::new(10, second, (i / 254) as u8, (i % 254 + 1) as u8);
            let extra_ns = extra_delay_ns.get(i as usize).copied().unwrap_or(0);
            Host::new(address, access_ns + extra_ns)
        })
        .collect()
}

fn config(links: &LinkOptions, hosts: u32) -> Result<(Config, Option<Config>), Failure> {
    let file = match &links.config {
        Some(file) => {
            let text = fs::read(file).map_err(|e| bad(format!("{}: {e}", file.display())))?;
            serde_json::from_slice(&text).map_err(|e| bad(format!("{}: {e}", file.display())))?
        }
        None => match &links.experiment {
            Some(file) => from_experiment(file, links)?,
            None => from_options(links)?,
        },
    };
    // an experiment with a network has a pair of hosts for each flow
    let hosts = match (&links.experiment, file.routes.len() as u32) {
        (Some(_), pairs) if pairs > 0 && hosts != 1 && hosts != pairs => {
            return Err(bad(format!(
                "--hosts: {hosts} is not allowed; the experiment's network has {pairs} pairs of \
                 hosts, one for each flow"
            )));
        }
        (Some(_), pairs) if pairs > 0 => pairs,
        _ => hosts,
    };
    if file.extra_delay_ns.len() > hosts as usize {
        let n = file.extra_delay_ns.len();
        return Err(bad(format!(
            "extra_delay_ns has {n} values for {hosts} hosts"
        )));
    }
    let access_ns = file.access_delay_ns;
    let mut left = hosts_of(77, hosts, access_ns, &file.extra_delay_ns);
    let mut right = hosts_of(78, hosts, access_ns, &[]);
    set_routes(&file, &mut left, &mut right)?;
    let mut config = Config::new(file.forward.link, file.reverse.link, left, right);
    config.forward.vary = file.forward.vary;
    config.reverse.vary = file.reverse.vary;
    config.forward.stream = file.forward.stream;
    config.reverse.stream = file.reverse.stream;
    config.further = file.further;
    config.seed = file.seed.unwrap_or(config.seed);
    config.access_rate_bps = file.access_rate_bps;
    config.capture = file.capture;
    if let Some(capture) = &mut config.capture {
        let file = &mut capture.file;
        *file = std::path::absolute(&*file).attempt(format!("find {}", file.display()))?;
    }
    config.late_threshold_ns = file.late_threshold_ns.unwrap_or(config.late_threshold_ns);
    config.spin_ns = file.spin_ns.unwrap_or(config.spin_ns);
    config.spin_share = file.spin_share.unwrap_or(config.spin_share);
    config.real_time = file.real_time;
    let mut ground = file
        .ground
        .map(|leg| gateway::between(&mut config, leg.forward, leg.reverse));
    let both = ground.iter_mut().chain([&mut config]);
    let paths = both.flat_map(Config::paths_mut);
    for vary in paths.map(|path| &mut path.vary) {
        if let Some(VaryFile::Schedule { file } | VaryFile::Mahimahi { file }) = vary {
            // make the file's path absolute, because the emulator process has another working
            // folder
            *file = std::path::absolute(&*file).attempt(format!("find {}", file.display()))?;
        }
    }
    Ok((config, ground))
}

/// Gives the hosts of each pair their routes through a network.
fn set_routes(file: &ConfigFile, left: &mut [Host], right: &mut [Host]) -> Result<(), Failure> {
    if file.routes.is_empty() && file.further.is_empty() {
        return Ok(());
    }
    if file.ground.is_some() {
        return Err(bad(
            "ground: is not allowed with further or routes; a network has no gateway".into(),
        ));
    }
    let (given, hosts) = (file.routes.len(), left.len());
    if given != hosts {
        return Err(bad(format!(
            "routes: {given} are not allowed; one for each pair of hosts, {hosts}"
        )));
    }
    for (index, routes) in file.routes.iter().enumerate() {
        for (way, route) in [("there", &routes.there), ("back", &routes.back)] {
            if route.is_empty() {
                return Err(bad(format!(
                    "routes[{index}].{way}: [] is not allowed; at least one link"
                )));
            }
        }
        left[index].route.clone_from(&routes.there);
        right[index].route.clone_from(&routes.back);
    }
    Ok(())
}

fn from_experiment(file: &std::path::Path, links: &LinkOptions) -> Result<ConfigFile, Failure> {
    let asked = experiment::read(file)?;
    let mut paths = asked.links.into_iter().map(|link| Path {
        link,
        vary: None,
        stream: None,
    });
    let (Some(forward), Some(reverse)) = (paths.next(), paths.next()) else {
        return Err(bad(format!("{}: topology: has no links", file.display())));
    };
    let mut extra_delay_ns = vec![];
    let mut routes = vec![];
    for (own, delay_ns) in &asked.flows {
        // a testbed has at most 256 links
        let numbers = |links: &[u32]| links.iter().map(|&link| link as u8).collect();
        routes.push(PairRoutes {
            there: numbers(&own.there),
            back: numbers(&own.back),
        });
        extra_delay_ns.push(*delay_ns);
    }
    Ok(ConfigFile {
        seed: Some(asked.seed),
        forward,
        reverse,
        further: paths.collect(),
        routes,
        extra_delay_ns,
        access_delay_ns: asked.access_delay_ns,
        access_rate_bps: Some(asked.access_rate_bps),
        ..from_options(&LinkOptions {
            capture: links.capture.clone(),
            ..LinkOptions::default()
        })?
    })
}

fn from_options(links: &LinkOptions) -> Result<ConfigFile, Failure> {
    let preset = match &links.preset {
        None => None,
        Some(name) => Some(preset::find(name).ok_or_else(|| {
            let names: Vec<_> = super::PRESETS.iter().map(|p| p.name).collect();
            bad(format!(
                "no preset \"{name}\"; known are {}",
                names.join(", ")
            ))
        })?),
    };
    fn option<T>(
        name: &str,
        text: &Option<String>,
        parse: fn(&str) -> Result<T, Refused>,
    ) -> Result<Option<T>, Failure> {
        text.as_deref()
            .map(parse)
            .transpose()
            .map_err(|e| bad(format!("{name}: {e}")))
    }
    let rate = option("--rate", &links.rate, parse_rate)?;
    let down_bps = rate.or(preset.map(|p| p.down_bps)).unwrap_or(RATE_BPS);
    let up_bps = option("--reverse-rate", &links.reverse_rate, parse_rate)?
        .or(rate)
        .or(preset.map(|p| p.up_bps))
        .unwrap_or(RATE_BPS);
    let rtt_ns = option("--rtt", &links.rtt, parse_rtt)?
        .or(preset.map(|p| p.rtt_ns))
        .unwrap_or(RTT_NS);
    let buffer = option("--buffer", &links.buffer, parse_buffer)?;
    let buffers = preset.map_or((Buffer::bdp(1), Buffer::bdp(1)), |p| {
        (p.down_buffer, p.up_buffer)
    });
    let loss = option("--loss", &links.loss, parse_probability)?.unwrap_or(0.0);
    let aqm = option("--aqm", &links.aqm, parse_aqm)?.unwrap_or_default();
    let plain = |rate_bps: u64, delay_ns: u64, room: Buffer, rtt_ns: u64| {
        let limit = room.limit(rate_bps, rtt_ns, "");
        let (limit_bytes, limit_pkts) = match limit {
            Ok(Limit::Bytes(bytes)) => (Some(bytes), None),
            // at most 2³² - 1
            Ok(Limit::Packets(pkts)) => (None, Some(pkts as u32)),
            Err(e) => return Err(bad(format!("--buffer: {e}"))),
        };
        Ok(LinkSpec {
            limit_bytes,
            limit_pkts,
            ..LinkSpec::plain(rate_bps, delay_ns)
        })
    };
    let link = |rate_bps: u64, delay_ns: u64, room: Buffer| {
        Ok::<_, Failure>(LinkSpec {
            aqm: aqm.clone(),
            loss,
            ..plain(rate_bps, delay_ns, buffer.unwrap_or(room), rtt_ns)?
        })
    };
    let (there_ns, back_ns) = halves_ns(rtt_ns);
    let ground = preset.and_then(|p| p.ground).map(|ground| {
        let way = |delay_ns: u64| {
            let link = plain(ground.rate_bps, delay_ns, Buffer::bdp(1), ground.rtt_ns)?;
            Ok::<_, Failure>(Path {
                link,
                vary: None,
                stream: None,
            })
        };
        let (there_ns, back_ns) = halves_ns(ground.rtt_ns);
        Ok::<_, Failure>(Leg {
            forward: way(there_ns)?,
            reverse: way(back_ns)?,
        })
    });
    Ok(ConfigFile {
        ground: ground.transpose()?,
        seed: links.seed,
        forward: Path {
            link: link(down_bps, there_ns, buffers.0)?,
            vary: option("--vary", &links.vary, parse_vary)?,
            stream: None,
        },
        reverse: Path {
            link: link(up_bps, back_ns, buffers.1)?,
            vary: option("--reverse-vary", &links.reverse_vary, parse_vary)?,
            stream: None,
        },
        further: vec![],
        routes: vec![],
        extra_delay_ns: vec![],
        access_delay_ns: 0,
        access_rate_bps: None,
        capture: links.capture.as_ref().map(|file| Capture {
            file: file.clone(),
            link: "bottleneck".into(),
            snaplen_bytes: 0,
        }),
        late_threshold_ns: None,
        spin_ns: None,
        spin_share: None,
        real_time: None,
    })
}

/// Parses a round-trip time, with the same limits as in an experiment. Each direction of the
/// emulated link gets half of it as delay.
fn parse_rtt(text: &str) -> Result<u64, Refused> {
    parse_time(text).and_then(any_time)
}

/// Parses an AQM with tunables, such as "red:ecn=on:max_th_pkts=50".
fn parse_aqm(text: &str) -> Result<Aqm, Refused> {
    let named = headway_algorithms::known().queue(text)?;
    Ok(Aqm {
        name: named.name,
        tunables: named.tunables.into_iter().collect(),
    })
}

fn parse_vary(text: &str) -> Result<VaryFile, Refused> {
    match text.split_once(':') {
        Some(("schedule", file)) => Ok(VaryFile::Schedule { file: file.into() }),
        Some(("mahimahi", file)) => Ok(VaryFile::Mahimahi { file: file.into() }),
        _ => Err(Refused::new(format!(
            "\"{text}\": must be schedule:FILE or mahimahi:FILE"
        ))),
    }
}

/// Makes the same checks as the emulator at its start, so that a wrong configuration is found
/// before anything is changed.
fn check(config: &Config) -> Result<(), Failure> {
    config.check().map_err(|e| bad(e.to_string()))?;
    for path in config.paths() {
        let link = path.link().map_err(|e| bad(e.to_string()))?;
        Link::new(&link, 0, 0, false).map_err(|e| bad(format!("--aqm: {e}")))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::BAD_INPUT;

    fn spec(links: LinkOptions) -> Result<Spec, Failure> {
        Spec::new("t", &links, 2, "cubic", &[], None)
    }

    #[test]
    fn every_preset_makes_a_testbed() {
        for preset in super::super::PRESETS {
            let links = LinkOptions {
                preset: Some(preset.name.into()),
                ..LinkOptions::default()
            };
            let spec = spec(links).unwrap();
            assert_eq!(spec.ground.is_some(), preset.ground.is_some());
            let config = spec.config;
            let (forward, reverse) = (config.forward.link, config.reverse.link);
            assert_eq!(forward.delay_ns + reverse.delay_ns, preset.rtt_ns);
            assert_eq!(forward.rate_bps, preset.down_bps);
            assert_eq!(reverse.rate_bps, preset.up_bps);
            assert!(forward.limit_bytes.unwrap() >= 10_000);
        }
    }

    #[test]
    fn options_change_a_preset() {
        let links = LinkOptions {
            preset: Some("geo-satellite".into()),
            rate: Some("20mbit".into()),
            buffer: Some("0.5bdp".into()),
            loss: Some("1%".into()),
            aqm: Some("red:ecn=on".into()),
            ..LinkOptions::default()
        };
        let link = spec(links).unwrap().config.forward.link;
        assert_eq!(link.rate_bps, 20_000_000);
        assert_eq!(link.delay_ns, 300_000_000);
        assert_eq!(link.limit_bytes, Some(750_000));
        assert_eq!(link.loss, 0.01);
        assert_eq!(link.aqm.tunables["ecn"], 1);
    }

    #[test]
    fn hosts_have_addresses_by_side() {
        let hosts = spec(LinkOptions::default()).unwrap().hosts();
        let names: Vec<_> = hosts
            .iter()
            .map(|h| (h.name.as_str(), h.address.to_string()))
            .collect();
        let expected = [
            ("left1", "10.77.0.1"),
            ("left2", "10.77.0.2"),
            ("right1", "10.78.0.1"),
            ("right2", "10.78.0.2"),
        ];
        assert!(names.iter().map(|(n, a)| (*n, a.as_str())).eq(expected));
        assert_eq!(hosts[0].namespace, "headway-t-left1");
    }

    /// The specification of a testbed with two hosts on each side and this `--config` file.
    fn configured(name: &str, file: &serde_json::Value) -> Result<Spec, Failure> {
        let path = std::env::temp_dir().join(format!("headway-{name}-{}", std::process::id()));
        fs::write(&path, file.to_string()).unwrap();
        let spec = spec(LinkOptions {
            config: Some(path.clone()),
            ..LinkOptions::default()
        });
        fs::remove_file(path).unwrap();
        spec
    }

    #[test]
    fn the_hosts_of_a_network_have_routes() {
        let path = |name: &str| serde_json::json!({"link": {"name": name, "rate_bps": 1000000}});
        let mut file = serde_json::json!({
            "forward": path("a-b"), "reverse": path("b-a"), "further": [path("b-c"), path("c-b")],
            "routes": [{"there": [0, 2], "back": [3, 1]}, {"there": [2], "back": [3]}],
        });
        let config = configured("network", &file).unwrap().config;
        let names: Vec<_> = (0..4).map(|number| config.link_name(number)).collect();
        assert_eq!(names, ["a-b", "b-a", "b-c", "c-b"]);
        assert_eq!(config.left[0].route, [0, 2]);
        assert_eq!(config.right[1].route, [3]);
        for (pointer, value, said) in [
            ("/routes/1/back", serde_json::json!([4]), "route: 4 is not"),
            (
                "/routes/0/there",
                serde_json::json!([]),
                "routes[0].there: []",
            ),
            ("/routes", serde_json::json!([]), "routes: 0 are not"),
            (
                "/further/1/link/rate_bps",
                serde_json::json!(0),
                "further[1].link.rate_bps",
            ),
        ] {
            let mut wrong = file.clone();
            *wrong.pointer_mut(pointer).unwrap() = value;
            let error = configured("wrong", &wrong).unwrap_err();
            assert!(error.message.contains(said), "{error}");
            assert_eq!(error.exit_status, BAD_INPUT);
        }
        file["ground"] = serde_json::json!({"forward": path("x"), "reverse": path("y")});
        let error = configured("ground", &file).unwrap_err();
        assert!(error.message.contains("ground: is not allowed"), "{error}");
    }

    #[test]
    fn invalid_values_are_bad_input() {
        let with = |change: fn(&mut LinkOptions)| {
            let mut links = LinkOptions::default();
            change(&mut links);
            let error = spec(links).unwrap_err();
            assert_eq!(error.exit_status, BAD_INPUT, "{error}");
            error.message
        };
        assert!(with(|l| l.preset = Some("moon".into())).contains("geo-satellite"));
        assert!(with(|l| l.rate = Some("fast".into())).contains("--rate"));
        assert!(with(|l| l.aqm = Some("rde".into())).contains("rde"));
        assert!(with(|l| l.aqm = Some("red:ecn=7".into())).contains("ecn"));
        assert!(with(|l| l.vary = Some("mahimahi:/none".into())).contains("/none"));
        assert!(with(|l| l.config = Some("/none.json".into())).contains("/none.json"));
        for name in ["", "Up", "a/b", "a b"] {
            assert!(Spec::new(name, &LinkOptions::default(), 1, "cubic", &[], None).is_err());
        }
        let sysctls = ["kernel.hostname=x".to_owned()];
        assert!(Spec::new("t", &LinkOptions::default(), 1, "cubic", &sysctls, None).is_err());
    }
}
