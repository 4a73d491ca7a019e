// Carries calls between tests and the program that they test, which run in two processes (go_apart.py).
// Both are compiled with this file. Standard input is the socket between them.
package main

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"os"
	"reflect"
	"sync"
	"unsafe"
)

const rewardkitEnded = 97

type rewardkitError string

func (e rewardkitError) Error() string { return string(e) }

// Types of the values that an interface may hold, by name. Tests run in init, so the types are set earlier.
var rewardkitKinds = rewardkitAllKinds()

func rewardkitAllKinds() map[string]reflect.Type {
	kinds := map[string]reflect.Type{}
	for _, value := range []interface{}{
		false, "", int(0), int8(0), int16(0), int32(0), int64(0), uint(0), uint8(0), uint16(0), uint32(0), uint64(0),
		float32(0), float64(0), complex128(0), []interface{}{}, []bool{}, []string{}, []int{}, []int64{}, []rune{},
		[]byte{}, []float64{}, [][]int{}, [][]string{}, [][]float64{}, [][]interface{}{}, map[string]int{}, map[string]string{},
		map[string]bool{}, map[string]float64{}, map[string]interface{}{}, map[interface{}]interface{}{}, map[int]int{},
		map[int]string{}, map[int]bool{}, map[rune]int{}, rewardkitError(""),
	} {
		kinds[reflect.TypeOf(value).String()] = reflect.TypeOf(value)
	}
	return kinds
}

var (
	rewardkitTurn   sync.Mutex
	rewardkitSocket = os.NewFile(0, "socket")
	rewardkitReader = bufio.NewReader(rewardkitSocket)
)

type rewardkitMessage struct {
	data []byte
}

func (m *rewardkitMessage) number(value uint64) {
	m.data = binary.LittleEndian.AppendUint64(m.data, value)
}

func (m *rewardkitMessage) text(value string) {
	m.number(uint64(len(value)))
	m.data = append(m.data, value...)
}

func (m *rewardkitMessage) send() bool {
	whole := &rewardkitMessage{}
	whole.text(string(m.data))
	_, err := rewardkitSocket.Write(whole.data)
	return err == nil
}

func rewardkitReceive() (*rewardkitMessage, bool) {
	var size uint64
	if binary.Read(rewardkitReader, binary.LittleEndian, &size) != nil {
		return nil, false
	}
	data, err := io.ReadAll(io.LimitReader(rewardkitReader, int64(size)))
	return &rewardkitMessage{data}, err == nil && uint64(len(data)) == size
}

func (m *rewardkitMessage) takeNumber() uint64 {
	value := binary.LittleEndian.Uint64(m.data)
	m.data = m.data[8:]
	return value
}

func (m *rewardkitMessage) takeText() string {
	size := m.takeNumber()
	value := string(m.data[:size])
	m.data = m.data[size:]
	return value
}

func rewardkitFlag(value bool) uint64 {
	if value {
		return 1
	}
	return 0
}

// Append the encoded content of a value.
func (m *rewardkitMessage) put(value reflect.Value) {
	switch value.Kind() {
	case reflect.Bool:
		m.number(rewardkitFlag(value.Bool()))
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		m.number(uint64(value.Int()))
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uintptr:
		m.number(value.Uint())
	case reflect.Float32, reflect.Float64:
		m.number(math.Float64bits(value.Float()))
	case reflect.Complex64, reflect.Complex128:
		m.number(math.Float64bits(real(value.Complex())))
		m.number(math.Float64bits(imag(value.Complex())))
	case reflect.String:
		m.text(value.String())
	case reflect.Array:
		for i := 0; i < value.Len(); i++ {
			m.put(value.Index(i))
		}
	case reflect.Struct:
		for i := 0; i < value.NumField(); i++ {
			m.put(value.Field(i))
		}
	case reflect.Slice, reflect.Map, reflect.Ptr, reflect.Interface:
		m.number(rewardkitFlag(!value.IsNil()))
		if !value.IsNil() {
			m.putHeld(value)
		}
	default:
		panic(fmt.Sprintf("a value of the type %s cannot be sent to the tests", value.Type()))
	}
}

func (m *rewardkitMessage) putHeld(value reflect.Value) {
	switch value.Kind() {
	case reflect.Slice:
		m.number(uint64(value.Len()))
		for i := 0; i < value.Len(); i++ {
			m.put(value.Index(i))
		}
	case reflect.Map:
		m.number(uint64(value.Len()))
		for _, key := range value.MapKeys() {
			m.put(key)
			m.put(value.MapIndex(key))
		}
	case reflect.Ptr:
		m.put(value.Elem())
	default:
		held := value.Elem()
		if held.CanInterface() {
			if err, ok := held.Interface().(error); ok {
				held = reflect.ValueOf(rewardkitError(err.Error()))
			}
		}
		if _, ok := rewardkitKinds[held.Type().String()]; !ok {
			panic(fmt.Sprintf("a value of the type %s cannot be sent to the tests", held.Type()))
		}
		m.text(held.Type().String())
		m.put(held)
	}
}

// Decode a value into a settable value.
func (m *rewardkitMessage) take(value reflect.Value) {
	if !value.CanSet() { // a field that is not exported
		value = reflect.NewAt(value.Type(), unsafe.Pointer(value.UnsafeAddr())).Elem()
	}
	switch value.Kind() {
	case reflect.Bool:
		value.SetBool(m.takeNumber() != 0)
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		value.SetInt(int64(m.takeNumber()))
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uintptr:
		value.SetUint(m.takeNumber())
	case reflect.Float32, reflect.Float64:
		value.SetFloat(math.Float64frombits(m.takeNumber()))
	case reflect.Complex64, reflect.Complex128:
		part := math.Float64frombits(m.takeNumber())
		value.SetComplex(complex(part, math.Float64frombits(m.takeNumber())))
	case reflect.String:
		value.SetString(m.takeText())
	case reflect.Array:
		for i := 0; i < value.Len(); i++ {
			m.take(value.Index(i))
		}
	case reflect.Struct:
		for i := 0; i < value.NumField(); i++ {
			m.take(value.Field(i))
		}
	default:
		value.Set(reflect.Zero(value.Type()))
		if m.takeNumber() != 0 {
			m.takeHeld(value)
		}
	}
}

func (m *rewardkitMessage) takeHeld(value reflect.Value) {
	switch value.Kind() {
	case reflect.Slice:
		value.Set(reflect.MakeSlice(value.Type(), 0, 0))
		for left := m.takeNumber(); left > 0; left-- {
			item := reflect.New(value.Type().Elem()).Elem()
			m.take(item)
			value.Set(reflect.Append(value, item))
		}
	case reflect.Map:
		value.Set(reflect.MakeMap(value.Type()))
		for left := m.takeNumber(); left > 0; left-- {
			key := reflect.New(value.Type().Key()).Elem()
			item := reflect.New(value.Type().Elem()).Elem()
			m.take(key)
			m.take(item)
			value.SetMapIndex(key, item)
		}
	case reflect.Ptr:
		value.Set(reflect.New(value.Type().Elem()))
		m.take(value.Elem())
	case reflect.Interface:
		held := reflect.New(rewardkitKinds[m.takeText()]).Elem()
		m.take(held)
		value.Set(held)
	default:
		panic(fmt.Sprintf("a value of the type %s cannot be sent to the program", value.Type()))
	}
}

// Call the program's function from the tests. Arguments and results are pointers.
func rewardkitAsk(arguments, results []interface{}) {
	rewardkitTurn.Lock()
	defer rewardkitTurn.Unlock()
	message := &rewardkitMessage{}
	for _, argument := range arguments {
		message.put(reflect.ValueOf(argument).Elem())
	}
	answer, ok := (*rewardkitMessage)(nil), message.send()
	if ok {
		answer, ok = rewardkitReceive()
	}
	if !ok {
		fmt.Fprintln(os.Stderr, "the program ended before it answered")
		os.Exit(rewardkitEnded)
	}
	if answer.takeNumber() != 0 {
		panic(answer.takeText())
	}
	for _, result := range results {
		answer.take(reflect.ValueOf(result).Elem())
	}
	for _, argument := range arguments {
		rewardkitTakeBack(answer, reflect.ValueOf(argument).Elem())
	}
}

// Apply the program's changes to an argument of the tests.
func rewardkitTakeBack(answer *rewardkitMessage, mine reflect.Value) {
	changed := reflect.New(mine.Type()).Elem()
	switch mine.Kind() {
	case reflect.Slice:
		answer.take(changed)
		reflect.Copy(mine, changed)
	case reflect.Map:
		answer.take(changed)
		if mine.IsNil() {
			return
		}
		for _, key := range mine.MapKeys() {
			mine.SetMapIndex(key, reflect.Value{})
		}
		for _, key := range changed.MapKeys() {
			mine.SetMapIndex(key, changed.MapIndex(key))
		}
	case reflect.Ptr:
		answer.take(changed)
		if !changed.IsNil() {
			mine.Elem().Set(changed.Elem())
		}
	}
}

// Answer calls of a function until the tests end.
func rewardkitServe(function interface{}) {
	for {
		asked, ok := rewardkitReceive()
		if !ok {
			os.Exit(0)
		}
		if !rewardkitAnswer(reflect.ValueOf(function), asked).send() {
			os.Exit(0)
		}
	}
}

func rewardkitAnswer(function reflect.Value, asked *rewardkitMessage) (answer *rewardkitMessage) {
	defer func() {
		if said := recover(); said != nil {
			answer = &rewardkitMessage{}
			answer.number(1)
			answer.text(fmt.Sprint(said))
		}
	}()
	kind := function.Type()
	arguments := make([]reflect.Value, kind.NumIn())
	for i := range arguments {
		arguments[i] = reflect.New(kind.In(i)).Elem()
		asked.take(arguments[i])
	}
	call := function.Call
	if kind.IsVariadic() {
		call = function.CallSlice
	}
	results := call(arguments)
	answer = &rewardkitMessage{}
	answer.number(0)
	for _, result := range results {
		answer.put(result)
	}
	for _, argument := range arguments {
		switch argument.Kind() {
		case reflect.Slice, reflect.Map, reflect.Ptr:
			answer.put(argument)
		}
	}
	return answer
}
