//! Applications: what the two ends of a flow do with their connections. Each application is a type
//! in its own file that implements [`Application`]. [`application`] lists them.

mod announced;
mod application;
mod bulk;
mod cbr;
mod exchanges;
mod pages;
mod pingpong;
mod recipe;
mod relay;
mod requests;

use super::connection::Connections;
use crate::scenario::App;
pub(crate) use application::{Application, Host};
pub(crate) use recipe::{window_scale_of, RelaySetup, Setup};

/// Creates a flow's application. If the flow has a relay, all connections of the application pass
/// through the relay.
pub(crate) fn application(setup: &Setup, connections: &mut Connections) -> Box<dyn Application> {
    let made = listed(setup, connections);
    match setup.relay {
        Some(_) => Box::new(relay::Relayed::new(made)),
        None => made,
    }
}

/// Creates the application of a flow without a relay. This function lists all applications.
fn listed(setup: &Setup, connections: &mut Connections) -> Box<dyn Application> {
    match &setup.flow.app {
        App::Bulk(app) => Box::new(bulk::Bulk::new(app, setup, connections)),
        App::Cbr(app) => Box::new(cbr::Cbr::new(app, setup)),
        App::Vectors(app) => Box::new(exchanges::Exchanges::of_vectors(app, setup, connections)),
        App::Sessions(app) => Box::new(exchanges::Exchanges::of_sessions(app, setup)),
        App::Exchanges(app) => Box::new(exchanges::Exchanges::of_file(app, setup)),
        App::Pages(app) => Box::new(pages::Pages::new(app, setup)),
        App::Pingpong(app) => Box::new(pingpong::Pingpong::new(app, setup, connections)),
        App::Requests(app) => Box::new(requests::Requests::new(app, setup)),
    }
}
