# Turns the list of operations into WSDL 1.1 (document/literal): awk -f make-wsdl.awk operations > vim25.wsdl
# SPDX-License-Identifier: GPL-3.0-or-later
function add_fault(name) {
    if (!(name in fault_known)) { fault_known[name] = 1; fault[++fault_count] = name }
}
function faults_of(i, kind,    parts, n, j, text) {
    n = split(op_faults[i] " " common, parts, " ")
    for (j = 1; j <= n; j++)
        text = text sprintf(kind == "port" ? \
            "      <fault name=\"%sFault\" message=\"tns:%sFault\"/>\n" : \
            "      <fault name=\"%sFault\"><soap:fault name=\"%sFault\" use=\"literal\"/></fault>\n", parts[j], parts[j])
    return text
}
/^#/ || NF == 0 { next }
{
    name = $1
    $1 = ""
    for (f = 2; f <= NF; f++)
        add_fault($f)
    if (name == "*") common = $0
    else { op[++op_count] = name; op_faults[op_count] = $0 }
}
END {
    print "<?xml version=\"1.0\" encoding=\"UTF-8\"?>"
    print "<definitions xmlns=\"http://schemas.xmlsoap.org/wsdl/\" xmlns:soap=\"http://schemas.xmlsoap.org/wsdl/soap/\""
    print "    xmlns:tns=\"urn:vim25\" targetNamespace=\"urn:vim25\" name=\"Vim\">"
    print "  <types><schema xmlns=\"http://www.w3.org/2001/XMLSchema\" targetNamespace=\"urn:vim25\""
    print "    elementFormDefault=\"qualified\"><include schemaLocation=\"vim25-types.xsd\"/></schema></types>"
    for (i = 1; i <= fault_count; i++)
        printf "  <message name=\"%sFault\"><part name=\"fault\" element=\"tns:%sFault\"/></message>\n", fault[i], fault[i]
    for (i = 1; i <= op_count; i++) {
        printf "  <message name=\"%sRequestMsg\"><part name=\"parameters\" element=\"tns:%s\"/></message>\n", op[i], op[i]
        printf "  <message name=\"%sResponseMsg\"><part name=\"parameters\" element=\"tns:%sResponse\"/></message>\n", op[i], op[i]
    }
    print "  <portType name=\"VimPortType\">"
    for (i = 1; i <= op_count; i++)
        printf "    <operation name=\"%s\">\n      <input message=\"tns:%sRequestMsg\"/>\n      <output message=\"tns:%sResponseMsg\"/>\n%s    </operation>\n", \
            op[i], op[i], op[i], faults_of(i, "port")
    print "  </portType>\n  <binding name=\"VimBinding\" type=\"tns:VimPortType\">"
    print "    <soap:binding style=\"document\" transport=\"http://schemas.xmlsoap.org/soap/http\"/>"
    for (i = 1; i <= op_count; i++)
        printf "    <operation name=\"%s\">\n      <soap:operation soapAction=\"urn:vim25\"/>\n      <input><soap:body use=\"literal\"/></input>\n      <output><soap:body use=\"literal\"/></output>\n%s    </operation>\n", \
            op[i], faults_of(i, "binding")
    print "  </binding>"
    print "  <service name=\"VimService\"><port name=\"VimPort\" binding=\"tns:VimBinding\">"
    print "    <soap:address location=\"https://localhost/sdk\"/></port></service>\n</definitions>"
}
