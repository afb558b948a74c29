/* io.h: system calls on descriptors, continued after a signal or a short count. Each returns 0 or
 * an errno. */
#ifndef ASSAY_BASE_IO_H
#define ASSAY_BASE_IO_H

#include <stddef.h>
#include <stdint.h>

/* All of the bytes, or an error. Waits if the descriptor is non-blocking. */
int assay_io_write(int fd, const void *bytes, size_t length);

/* Once, up to `size` bytes; *got is 0 at the end. */
int assay_io_read(int fd, void *bytes, size_t size, size_t *got);

/* On the disk when this returns. A descriptor that cannot be synced (a pipe) is not an error. */
int assay_io_sync(int fd);
/* The same for the folder a path lies in, so that a new name survives a crash of the machine. */
int assay_io_sync_folder_of(const char *path);

int assay_io_truncate(int fd, int64_t size);

#endif
