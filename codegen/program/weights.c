/*
 * The weights of a program: one blob, and the object file that brings it into the executable.
 *
 * The object is written here and not by an assembler: tcc has no .incbin, and compiling megabytes of numbers as C takes
 * minutes.  Sections: null, .rodata (aligned to a cache line as its parts are; a larger alignment could cost a page of
 * padding), .note.GNU-stack, .symtab, .strtab, .shstrtab.  ELF-64 Object File Format 1.5.
 */
#include "../codegen.h"

#include <elf.h>
#include <errno.h>
#include <string.h>

const char *const weight_forms[] = { "plain", "panels", "winograd", "taps", "bias", "gpu" };

const char *const forms_names[] = { [FORMS_MADE] = "made", [FORMS_FAST] = "fast", [FORMS_SMALL] = "small", NULL };

enum { LINE = 64 };                      /* of the cache: where a part may begin */

static const char *
content_key(Weights *w, const void *data, int64_t bytes)
{
	return arena_printf(w->cx->arena, "%016llx:%lld", (unsigned long long)hash_bytes(data, bytes),
			    (long long)bytes);
}

int64_t
weights_add(Weights *w, WeightForm form, const void *data, int64_t bytes)
{
	static const char zeros[LINE];
	const char *key = content_key(w, data, bytes);
	const intptr_t known = (intptr_t)map_get(&w->known, key);
	int64_t at;

	if (known && !memcmp(w->bytes.at + known - 1, data, (size_t)bytes))
		return known - 1;
	buf_add(&w->bytes, zeros, -w->bytes.n & (LINE - 1));
	at = w->bytes.n;
	w->form_bytes[form] += bytes;
	if (bytes)
		buf_add(&w->bytes, data, bytes);
	if (!known)
		map_put(&w->known, key, (void *)(intptr_t)(at + 1));
	return at;
}

static int
original_of(Weights *w, const void *data, int64_t bytes)
{
	const char *key = content_key(w, data, bytes);
	const intptr_t known = (intptr_t)map_get(&w->original_of, key);
	Original o = { .data = data, .bytes = bytes };

	if (known && !memcmp(w->originals.at[known - 1].data, data, (size_t)bytes))
		return (int)known - 1;
	vec_push(w->cx->arena, &w->originals, o);
	if (!known)
		map_put(&w->original_of, key, (void *)(intptr_t)w->originals.n);
	return w->originals.n - 1;
}

int
weights_storage(Weights *w, RtStorage *s)
{
	const char *key = arena_printf(w->cx->arena, "%p", (const void *)s);
	const intptr_t known = (intptr_t)map_get(&w->storage_of, key);
	Stored stored = { .storage = s };

	if (known)
		return (int)known - 1;
	rt_count_up(&s->h);
	stored.original = original_of(w, s->data, s->bytes);
	vec_push(w->cx->arena, &w->storages, stored);
	map_put(&w->storage_of, key, (void *)(intptr_t)w->storages.n);
	return w->storages.n - 1;
}

Original *
weights_original(Weights *w, RtStorage *s)
{
	const int at = weights_storage(w, s);

	return &w->originals.at[w->storages.at[at].original];
}

static int64_t
floats_in(const RtPacking *p)
{
	return (int64_t)p->n * p->k * p->taps;
}

void
weights_note(Weights *w, RtStorage *s, RtPacking p)
{
	Original *o = weights_original(w, s);
	const int64_t n = floats_in(&p);

	for (int i = 0; i < o->parts.n; i++) {
		const RtPacking *q = &o->parts.at[i];

		if (p.to < q->to + floats_in(q) && q->to < p.to + n)
			return;
	}
	vec_push(w->cx->arena, &o->parts, p);
	o->covered += n;
}

bool
original_is_packed(const Original *o)
{
	return o->parts.n && !o->needed && o->covered * (int64_t)sizeof(float) == o->bytes;
}

void
weights_finish(Weights *w)
{
	for (int i = 0; i < w->originals.n; i++) {
		Original *o = &w->originals.at[i];

		if (!original_is_packed(o))
			o->offset = weights_add(w, WEIGHT_PLAIN, o->data, o->bytes);
	}
}

enum { SEC_NULL, SEC_RODATA, SEC_STACK, SEC_SYMTAB, SEC_STRTAB, SEC_SHSTRTAB, NSEC };

static const char strtab[] = "\0kiln_weights";
static const char shstrtab[] = "\0.rodata\0.note.GNU-stack\0.symtab\0.strtab\0.shstrtab";

static Elf64_Shdr
section(int name, int type, int64_t offset, int64_t size, int align)
{
	return (Elf64_Shdr){ .sh_name = (Elf64_Word)name, .sh_type = (Elf64_Word)type, .sh_offset = (Elf64_Off)offset,
			     .sh_size = (Elf64_Xword)size, .sh_addralign = (Elf64_Xword)align };
}

static bool
put(FILE *f, const void *p, int64_t n)
{
	return n == 0 || fwrite(p, (size_t)n, 1, f) == 1;
}

bool
weights_write_object(const Weights *w, const char *path, int machine, char **why)
{
	static const char zeros[LINE];
	const int64_t size = w->bytes.n ? w->bytes.n : 1, data = LINE, padded = (size + 7) & ~(int64_t)7;
	const Elf64_Sym symbols[2] = { { 0 }, { .st_name = 1, .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_OBJECT),
						.st_shndx = SEC_RODATA, .st_size = (Elf64_Xword)size } };
	const int64_t at_sym = data + padded, at_str = at_sym + (int64_t)sizeof symbols;
	const int64_t at_shstr = at_str + (int64_t)sizeof strtab;
	const int64_t at_sections = (at_shstr + (int64_t)sizeof shstrtab + 7) & ~(int64_t)7;
	Elf64_Ehdr h = { .e_ident = { ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB, EV_CURRENT },
			 .e_type = ET_REL, .e_machine = (Elf64_Half)machine, .e_version = EV_CURRENT,
			 .e_shoff = (Elf64_Off)at_sections, .e_ehsize = sizeof h, .e_shentsize = sizeof(Elf64_Shdr),
			 .e_shnum = NSEC, .e_shstrndx = SEC_SHSTRTAB };
	Elf64_Shdr sections[NSEC] = {
		[SEC_RODATA] = section(1, SHT_PROGBITS, data, size, LINE),
		[SEC_STACK] = section(9, SHT_PROGBITS, data + padded, 0, 1),
		[SEC_SYMTAB] = section(25, SHT_SYMTAB, at_sym, sizeof symbols, 8),
		[SEC_STRTAB] = section(33, SHT_STRTAB, at_str, sizeof strtab, 1),
		[SEC_SHSTRTAB] = section(41, SHT_STRTAB, at_shstr, sizeof shstrtab, 1),
	};
	FILE *f = fopen(path, "wb");
	bool ok;

	sections[SEC_RODATA].sh_flags = SHF_ALLOC;
	sections[SEC_SYMTAB].sh_link = SEC_STRTAB;
	sections[SEC_SYMTAB].sh_info = 1;
	sections[SEC_SYMTAB].sh_entsize = sizeof symbols[0];
	ok = f && put(f, &h, sizeof h) && put(f, zeros, data - (int64_t)sizeof h) && put(f, w->bytes.at, w->bytes.n) &&
	     put(f, zeros, padded - w->bytes.n) && put(f, symbols, sizeof symbols) && put(f, strtab, sizeof strtab) &&
	     put(f, shstrtab, sizeof shstrtab) && put(f, zeros, at_sections - at_shstr - (int64_t)sizeof shstrtab) &&
	     put(f, sections, sizeof sections);
	if (!ok)
		*why = strerror(errno);
	if (f && fclose(f) && ok) {
		*why = strerror(errno);
		ok = false;
	}
	return ok;
}
