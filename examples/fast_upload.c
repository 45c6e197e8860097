/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Uploads a megabyte and first gives Headway two hints: the volume, and that the application can
 * use 10 Mbit/s at once. Without `headwayctl hints attach` the upload runs normally. With --quiet
 * it gives no hints, for comparison.
 *
 * 	cc -I include -o fast_upload examples/fast_upload.c
 * 	fast_upload 192.0.2.1 9000 [--quiet]
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "headway.h"

#define RATE_BPS 10000000
#define BYTES	 1000000

static void hint(int fd, int option, uint64_t value, const char *name)
{
	if (setsockopt(fd, IPPROTO_TCP, option, &value, sizeof(value)) == 0)
		return;
	if (errno == ENOPROTOOPT)
		fprintf(stderr, "%s: nobody takes it (headwayctl hints attach)\n", name);
	else
		perror(name);
}

static double now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1e3 + now.tv_nsec / 1e6;
}

static int send_all(int fd)
{
	static char block[10000];
	int left = BYTES;
	ssize_t n;

	while (left > 0) {
		n = write(fd, block, sizeof(block));
		if (n < 0)
			return -1;
		left -= n;
	}
	/* the receiver closes when it has read everything */
	return shutdown(fd, SHUT_WR) == 0 && read(fd, block, 1) == 0 ? 0 : -1;
}

int main(int argc, char **argv)
{
	struct sockaddr_in to = { .sin_family = AF_INET };
	struct tcp_startup_info info;
	socklen_t length = sizeof(info);
	int quiet = argc == 4 && strcmp(argv[3], "--quiet") == 0;
	double start_ms;
	int fd;

	if ((argc != 3 && !quiet) || inet_pton(AF_INET, argv[1], &to.sin_addr) != 1) {
		fprintf(stderr, "usage: fast_upload ADDRESS PORT [--quiet]\n");
		return 2;
	}
	to.sin_port = htons(atoi(argv[2]));
	fd = socket(AF_INET, SOCK_STREAM, 0);
	if (fd < 0) {
		perror("socket");
		return 1;
	}
	if (quiet) {
		hint(fd, TCP_APPLICATION_TYPE, TCP_APPLICATION_STANDARD, "TCP_APPLICATION_TYPE");
	} else {
		/* set before connect(), so that the handshake can carry the Quick-Start request
		 * for the rate */
		hint(fd, TCP_INITIAL_RATE, RATE_BPS, "TCP_INITIAL_RATE");
		hint(fd, TCP_DATA_VOLUME, BYTES, "TCP_DATA_VOLUME");
	}
	start_ms = now_ms();
	if (connect(fd, (struct sockaddr *)&to, sizeof(to)) != 0) {
		perror("connect");
		return 1;
	}
	if (send_all(fd) != 0) {
		perror("send");
		return 1;
	}
	printf("%d bytes in %.0f ms\n", BYTES, now_ms() - start_ms);
	if (getsockopt(fd, IPPROTO_TCP, TCP_STARTUP_INFO, &info, &length) == 0)
		printf("asked for %llu bit/s, granted %llu bit/s, started at %llu bit/s\n",
		       info.asked_bps, info.granted_bps, info.started_bps);
	close(fd);
	return 0;
}
