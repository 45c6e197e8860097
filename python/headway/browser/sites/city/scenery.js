// What is there before anything was fetched: sky, water, ground, streets and their lamps.
import * as THREE from "three";

function painted(width, height, paint) {
  const canvas = document.createElement("canvas");
  canvas.width = width;
  canvas.height = height;
  paint(canvas.getContext("2d"));
  const texture = new THREE.CanvasTexture(canvas);
  texture.colorSpace = THREE.SRGBColorSpace;
  return texture;
}

// always the same stars
function* numbers(seed) {
  for (;;) yield (seed = (seed * 16807) % 2147483647) / 2147483647;
}

function sky() {
  const draw = numbers(7);
  const texture = painted(1024, 512, c => {
    const dusk = c.createLinearGradient(0, 0, 0, 512);
    for (const [at, colour] of [[0, "#0a1230"], [.3, "#1d2c5c"], [.42, "#54497f"], [.475, "#c0738a"],
                                [.5, "#f3a978"], [.515, "#5a5274"], [1, "#1a2138"]]) {
      dusk.addColorStop(at, colour);
    }
    c.fillStyle = dusk;
    c.fillRect(0, 0, 1024, 512);
    for (let star = 0; star < 420; star++) {
      const y = 190 * draw.next().value;
      c.fillStyle = `rgba(255,255,255,${(1 - y / 200) * draw.next().value})`;
      c.fillRect(1024 * draw.next().value, y, 1.4, 1.4);
    }
  });
  const dome = new THREE.Mesh(
    new THREE.SphereGeometry(6000, 32, 24),
    new THREE.MeshBasicMaterial({ map: texture, side: THREE.BackSide, fog: false, depthWrite: false }));
  dome.renderOrder = -1;
  return dome;
}

const TILE_M = 110;

function ground(quarter) {
  const count = Math.round(quarter.side / TILE_M);
  const block = painted(128, 128, c => {
    c.fillStyle = "#23262f";
    c.fillRect(0, 0, 128, 128);
    c.fillStyle = "#3a3b42";
    c.fillRect(8, 8, 112, 112);
    c.fillStyle = "#2b3a31";
    c.fillRect(40, 40, 48, 48);
    c.strokeStyle = "#c9b98a66";
    c.setLineDash([6, 8]);
    c.strokeRect(0, 0, 128, 128);
  });
  block.wrapS = block.wrapT = THREE.RepeatWrapping;
  block.repeat.set(count, count);
  block.anisotropy = 4;
  const plane = new THREE.Mesh(
    new THREE.PlaneGeometry(quarter.side, quarter.side),
    new THREE.MeshBasicMaterial({ map: block }));
  plane.rotation.x = -Math.PI / 2;
  plane.position.set(quarter.at[0], 0.1, quarter.at[1]);

  const lamps = [];
  for (let row = 0; row <= count; row++) {
    for (let step = 0; step <= count * 3; step++) {
      const across = (row - count / 2) * TILE_M, along = (step / 3 - count / 2) * TILE_M;
      lamps.push(quarter.at[0] + across + 6, 5, quarter.at[1] + along);
      lamps.push(quarter.at[0] + along, 5, quarter.at[1] + across + 6);
    }
  }
  const light = painted(32, 32, c => {
    const glow = c.createRadialGradient(16, 16, 0, 16, 16, 16);
    glow.addColorStop(0, "#fff3d0");
    glow.addColorStop(.3, "#ffc871aa");
    glow.addColorStop(1, "#ffb05000");
    c.fillStyle = glow;
    c.fillRect(0, 0, 32, 32);
  });
  const shape = new THREE.BufferGeometry();
  shape.setAttribute("position", new THREE.Float32BufferAttribute(lamps, 3));
  const points = new THREE.Points(shape, new THREE.PointsMaterial({
    map: light, size: 9, transparent: true, depthWrite: false, blending: THREE.AdditiveBlending }));
  const group = new THREE.Group();
  group.add(plane, points);
  return group;
}

export function scenery(scene, quarters) {
  scene.fog = new THREE.Fog("#4c4668", 500, 2600);
  scene.add(sky());
  const land = new THREE.Mesh(
    new THREE.PlaneGeometry(14000, 14000), new THREE.MeshBasicMaterial({ color: "#1f2a38" }));
  land.rotation.x = -Math.PI / 2;
  land.position.y = -0.5;
  scene.add(land);
  for (const quarter of quarters) scene.add(ground(quarter));
}
