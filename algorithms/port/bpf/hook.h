/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/*
 * Constants that record the owner of an attached program and where it was attached. headwayctl
 * sets them before load and reads them back from the kernel.
 */
#ifndef HEADWAY_PORT_BPF_HOOK_H
#define HEADWAY_PORT_BPF_HOOK_H

/* HEADWAY_SCOPE in the environment of the command that attached the program */
const volatile char hw_scope[16] = "";
/*
 * Where the program was attached: the folder of the cgroup, or the name of the network namespace
 * and of the device. A namespace's name has at most 255 bytes, a device's name 15.
 */
const volatile char hw_place[512] = "";

#endif
