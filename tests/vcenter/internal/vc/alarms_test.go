// SPDX-License-Identifier: GPL-3.0-or-later
package vc

import (
	"fmt"
	"strings"
	"testing"
)

const onGrown = `<expression xsi:type="EventAlarmExpression"><eventType>EventEx</eventType><eventTypeId>com.example.grown</eventTypeId>` +
	`<objectType>ClusterComputeResource</objectType><status>%s</status></expression>`

func alarmSpec(name, parts string) string {
	return `<spec><name>` + name + `</name><description>d</description><enabled>true</enabled><expression xsi:type="OrAlarmExpression">` +
		parts + `</expression></spec>`
}

const onRoot = `<entity type="Folder">group-d1</entity>`

func TestAnAlarmTurnsWithTheEventItWaitsFor(t *testing.T) {
	f := start(t)
	registerGrown(f)
	a := f.admin()
	id := f.element(a.call("CreateAlarm", "AlarmManager", onRoot+alarmSpec("Grown", fmt.Sprintf(onGrown, "red"))), "returnval")
	f.expect(a.call("GetAlarm", "AlarmManager", onRoot), id)
	f.expect(a.props("Alarm", id, "info.name"), "Grown")
	f.expect(a.call("PostEvent", "EventManager", eventEx("com.example.grown", "info", argument, "domain-c7")), "PostEventResponse")
	f.expect(a.props("ClusterComputeResource", "domain-c7", "triggeredAlarmState"), "<overallStatus>red<", id)
	f.refuse(a.props("ClusterComputeResource", "domain-c70", "triggeredAlarmState"), id)
	f.expect(a.call("ReconfigureAlarm", "Alarm:"+id, alarmSpec("Grown", fmt.Sprintf(onGrown, "green"))), "ReconfigureAlarmResponse")
	f.expect(a.call("PostEvent", "EventManager", eventEx("com.example.grown", "info", argument, "domain-c7")), "PostEventResponse")
	f.refuse(a.props("ClusterComputeResource", "domain-c7", "triggeredAlarmState"), id)
	f.expect(a.call("RemoveAlarm", "Alarm:"+id, ""), "RemoveAlarmResponse")
	f.refuse(a.call("GetAlarm", "AlarmManager", onRoot), id)
}

func TestADefinitionThatIsWrongIsRefused(t *testing.T) {
	f := start(t)
	registerGrown(f)
	a := f.admin()
	good := fmt.Sprintf(onGrown, "red")
	f.expect(a.call("CreateAlarm", "AlarmManager", onRoot+alarmSpec("Grown", good)), "CreateAlarmResponse")
	for wanted, spec := range map[string]string{
		"DuplicateName":       alarmSpec("grown", good),
		"InvalidName":         alarmSpec("", good),
		"InvalidRequest":      alarmSpec("A", strings.Replace(good, ` xsi:type="EventAlarmExpression"`, "", 1)),
		"no extension has":    alarmSpec("B", strings.Replace(good, "com.example.grown", "com.example.shrunk", 1)),
		"is no type of event": alarmSpec("C", strings.Replace(good, ">EventEx<", ">Folder<", 1)),
		"type of the invent":  alarmSpec("D", strings.Replace(good, "ClusterComputeResource", "EventManager", 1)),
		"missing mandatory":   alarmSpec("E", ""),
	} {
		f.expect(a.call("CreateAlarm", "AlarmManager", onRoot+spec), wanted)
	}
	o := f.raw()
	f.expect(o.login("operator@vsphere.local", "oper-Pass1"), "LoginResponse")
	f.expect(o.call("CreateAlarm", "AlarmManager", onRoot+alarmSpec("F", good)), "NoPermission", "Alarm.Create")
}
