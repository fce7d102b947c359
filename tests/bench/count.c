/*
 * A plugin of qemu-user that counts executed instructions:
 *
 *   cc -shared -fPIC -o count.so tests/bench/count.c
 *   qemu-aarch64 -plugin ./count.so -L /usr/aarch64-linux-gnu PROGRAM -i IN.npz --threads 1 --bench=2
 *
 * Debian has no qemu-plugin.h, so the used declarations of its version 1 are copied here.  With threads the count is
 * slightly too small.
 */
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>

typedef uint64_t Id;
typedef struct Block Block;              /* a block of translated code */
enum { ADD_U64 };

void qemu_plugin_register_vcpu_tb_trans_cb(Id, void (*)(Id, Block *));
void qemu_plugin_register_vcpu_tb_exec_inline(Block *, int op, void *to, uint64_t by);
size_t qemu_plugin_tb_n_insns(const Block *);
void qemu_plugin_register_atexit_cb(Id, void (*)(Id, void *), void *);

int qemu_plugin_version = 1;
static uint64_t instructions;

static void
translated(Id id, Block *b)
{
	(void)id;
	qemu_plugin_register_vcpu_tb_exec_inline(b, ADD_U64, &instructions, qemu_plugin_tb_n_insns(b));
}

static void
ended(Id id, void *arg)
{
	(void)id, (void)arg;
	fprintf(stderr, "%" PRIu64 " instructions\n", instructions);
}

int
qemu_plugin_install(Id id, const void *machine, int argc, char **argv)
{
	(void)machine, (void)argc, (void)argv;
	qemu_plugin_register_vcpu_tb_trans_cb(id, translated);
	qemu_plugin_register_atexit_cb(id, ended, NULL);
	return 0;
}
