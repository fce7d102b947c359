// samples/door/digits.cpp - the same in C++, with DLPack's tensors: an error becomes an exception
#include <algorithm>
#include <iostream>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "digits.h"
#include "picture.h"

class Digits {
public:
	Digits()
	{
		digits_options options = {};
		char why[256];

		options.print = [](void *, const char *, size_t) {};
		m.reset(digits_open(&options, why, sizeof why));
		if (!m)
			throw std::runtime_error(why);
	}

	std::vector<float> operator()(const float *pixels)
	{
		int64_t shape[] = { 8, 8 };
		DLTensor in = {}, out = {}, *args[] = { &in };

		in.data = const_cast<float *>(pixels);
		in.device.device_type = kDLCPU;
		in.ndim = 2;
		in.dtype.code = kDLFloat;
		in.dtype.bits = 32;
		in.dtype.lanes = 1;
		in.shape = shape;
		if (digits_call(m.get(), "forward", args, 1, &out, 1))
			throw std::runtime_error(digits_error(m.get()));
		const float *p = static_cast<const float *>(out.data);         // the instance's, until the next call
		return std::vector<float>(p, p + out.shape[0]);
	}

private:
	struct Close { void operator()(digits *d) const { digits_close(d); } };
	std::unique_ptr<digits, Close> m;
};

int
main()
{
	try {
		Digits read;
		const std::vector<float> p = read(&picture[0][0]);
		const auto best = std::max_element(p.begin(), p.end());

		std::cout << "a " << best - p.begin() << ", by " << *best << "\n";
	} catch (const std::exception &e) {
		std::cerr << e.what() << "\n";
		return 1;
	}
	return 0;
}
