/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Uploads a megabyte and tells Headway beforehand: how much it is, and that the
 * application could use 10 Mbit/s at once. Where nobody listens for such hints the
 * upload runs as ever.
 *
 *	cc -I include -o fast_upload examples/fast_upload.c
 *	fast_upload 192.0.2.1 9000
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "headway.h"

static void hint(int fd, int option, uint64_t value, const char *name)
{
	if (setsockopt(fd, IPPROTO_TCP, option, &value, sizeof(value)) == 0)
		return;
	if (errno == ENOPROTOOPT)
		fprintf(stderr, "%s: nobody takes it (headwayctl hints attach)\n", name);
	else
		perror(name);
}

int main(int argc, char **argv)
{
	static char block[10000];
	struct sockaddr_in to = { .sin_family = AF_INET };
	struct tcp_startup_info info;
	socklen_t length = sizeof(info);
	int fd, i;

	if (argc != 3 || inet_pton(AF_INET, argv[1], &to.sin_addr) != 1) {
		fprintf(stderr, "usage: fast_upload ADDRESS PORT\n");
		return 2;
	}
	to.sin_port = htons(atoi(argv[2]));
	fd = socket(AF_INET, SOCK_STREAM, 0);
	/* before connect(), so that the handshake can ask the path for the rate */
	hint(fd, TCP_INITIAL_RATE, 10000000, "TCP_INITIAL_RATE");
	hint(fd, TCP_DATA_VOLUME, 100 * sizeof(block), "TCP_DATA_VOLUME");
	if (fd < 0 || connect(fd, (struct sockaddr *)&to, sizeof(to)) != 0) {
		perror("connect");
		return 1;
	}
	for (i = 0; i < 100; i++) {
		if (write(fd, block, sizeof(block)) != sizeof(block)) {
			perror("write");
			return 1;
		}
	}
	if (getsockopt(fd, IPPROTO_TCP, TCP_STARTUP_INFO, &info, &length) == 0)
		printf("asked for %llu bit/s, granted %llu bit/s\n", info.asked_bps,
		       info.granted_bps);
	close(fd);
	return 0;
}
